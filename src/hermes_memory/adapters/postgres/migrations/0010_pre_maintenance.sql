-- Mending the memory and moving it from one theme to another, with all that was made of the rows. For the owner alone:
-- nothing here is granted to the runtime. Each call is bounded by what it is handed.

-- Puts rows of one theme into the text index by the words that are stored with them: the inverse of scrub_rows.
create function hermes_memory.index_rows(of_theme text, ids uuid[]) returns void
language sql set search_path = pg_catalog, pg_temp as $$
  with documents as materialized (
    select d.shelf, d.subject, d.lex, d.lex_key, least(d.lex_length, 4095) as length
      from hermes_memory.memory_documents d where d.agent_identity = of_theme and d.id = any (ids)),
  postings as (
    select d.shelf, d.subject, u.lexeme,
           (d.lex_key << 16) | (least(cardinality(u.positions), 15) << 12) | d.length as posting
      from documents d cross join lateral unnest(d.lex) as u),
  weighed as (
    select p.*, hermes_memory.posting_impact(p.posting) as impact from postings p),
  parted as (
    select w.*, (row_number() over (partition by w.shelf, w.subject, w.lexeme
                                    order by w.impact desc, w.posting desc) - 1) / 240 as part
      from weighed w)
  insert into hermes_memory.term_blocks (agent_identity, shelf, subject, lexeme, hi, n, packed)
  select of_theme, p.shelf, p.subject, p.lexeme, max(p.impact), count(*),
         array_agg(p.posting order by p.impact desc, p.posting desc)
    from parted p group by p.shelf, p.subject, p.lexeme, p.part
  union all
  select of_theme, d.shelf, d.subject, '', 0, count(*), array[sum(d.length)::bigint]
    from documents d group by d.shelf, d.subject
$$;

-- Counts rows of one theme out of the statistics of the text index. Their postings stay until they are swept: of a
-- whole theme that is done once, in one pass, where taking out those of some rows takes a pass through all of them each
-- time. A search passes them over, since their rows are gone.
create function hermes_memory.unlist_rows(of_theme text, ids uuid[]) returns void
language sql set search_path = pg_catalog, pg_temp as $$
  insert into hermes_memory.term_blocks (agent_identity, shelf, subject, lexeme, hi, n, packed)
  select of_theme, d.shelf, d.subject, '', 0, -count(*), array[-sum(least(d.lex_length, 4095))::bigint]
    from hermes_memory.memory_documents d where d.agent_identity = of_theme and d.id = any (ids)
   group by d.shelf, d.subject
$$;

-- How many postings there are of rows that are gone, over all themes.
create function hermes_memory.count_dead_postings(of_theme text default null) returns bigint
language sql stable set search_path = pg_catalog, pg_temp set enable_nestloop = off as $$
  select count(*)
    from (select b.agent_identity, u.posting >> 16 as key
            from hermes_memory.term_blocks b cross join lateral unnest(b.packed) as u(posting)
           where b.lexeme > '' and (of_theme is null or b.agent_identity = of_theme)) p
   where not exists (select from hermes_memory.memory_documents d
                      where d.agent_identity = p.agent_identity and d.lex_key = p.key)
$$;

-- Takes the postings of rows that are gone out of up to so many blocks of a place, those after one of them. Returns how
-- many there were, and the last block that was looked at; null when there were no more. The theme is held by whoever
-- calls.
create function hermes_memory.sweep_blocks(of_theme text, of_shelf text, of_subject bytea, after_lexeme text,
  after_hi real, after_id bigint, most int, out taken bigint, out lexeme text, out hi real, out id bigint)
language plpgsql set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan set enable_nestloop = off as $$
#variable_conflict use_column
begin
  select p.lexeme, p.hi, p.id into lexeme, hi, id
    from (select b.lexeme, b.hi, b.id from hermes_memory.term_blocks b
           where b.agent_identity = of_theme and b.shelf = of_shelf and b.subject = of_subject and b.lexeme > ''
             and (b.lexeme, b.hi, b.id) > (after_lexeme, after_hi, after_id)
           order by b.lexeme, b.hi, b.id limit most) p
   order by p.lexeme desc, p.hi desc, p.id desc limit 1;
  with postings as materialized (
    select b.lexeme, b.hi, b.id, u.posting, u.n
      from hermes_memory.term_blocks b cross join lateral unnest(b.packed) with ordinality as u(posting, n)
     where b.agent_identity = of_theme and b.shelf = of_shelf and b.subject = of_subject and b.lexeme > ''
       and (b.lexeme, b.hi, b.id) > (after_lexeme, after_hi, after_id)
       and (b.lexeme, b.hi, b.id) <= (sweep_blocks.lexeme, sweep_blocks.hi, sweep_blocks.id)),
  touched as materialized (
    select p.lexeme, p.hi, p.id, count(*) filter (where d.lex_key is null) as dead,
           array_agg(p.posting order by p.n) filter (where d.lex_key is not null) as rest
      from postings p
      left join (select m.lex_key from hermes_memory.memory_documents m where m.agent_identity = of_theme) d
        on d.lex_key = p.posting >> 16
     group by p.lexeme, p.hi, p.id having count(*) filter (where d.lex_key is null) > 0),
  gone as (
    delete from hermes_memory.term_blocks b using touched t
     where b.agent_identity = of_theme and b.shelf = of_shelf and b.subject = of_subject
       and b.lexeme = t.lexeme and b.hi = t.hi and b.id = t.id
    returning t.lexeme, t.hi, t.dead, t.rest),
  kept as (
    insert into hermes_memory.term_blocks (agent_identity, shelf, subject, lexeme, hi, n, packed)
    select of_theme, of_shelf, of_subject, g.lexeme, g.hi, cardinality(g.rest), g.rest
      from gone g where g.rest is not null)
  select coalesce(sum(g.dead), 0) into taken from gone g;
end $$;

-- Lets rows of a theme wait for vectors of every generation that is fed, with none and no other job until then.
create function hermes_memory.embed_anew(of_theme text, ids uuid[]) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  perform hermes_memory.forget_vectors(of_theme, ids);
  delete from hermes_memory.embedding_jobs j where j.agent_identity = of_theme and j.row_id = any (ids);
  insert into hermes_memory.embedding_jobs (agent_identity, row_id, generation, subject, kind, content_hash, not_before)
  select c.agent_identity, c.id, m.generation, c.subject, 'turn', c.content_hash, now()
    from hermes_memory.conversations c cross join hermes_memory.embedding_models m
   where c.agent_identity = of_theme and c.id = any (ids) and c.embed and m.fed;
end $$;

-- Takes vectors and jobs of rows from one theme to another, where the rows are already.
create function hermes_memory.move_vectors(from_theme text, to_theme text, ids uuid[]) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  made int;
begin
  for made in select m.generation from hermes_memory.embedding_models m loop
    execute format('insert into hermes_memory.%1$I (agent_identity, row_id, part, subject, target, embedding)
                    select $2, v.row_id, v.part, v.subject, v.target, v.embedding from hermes_memory.%1$I v
                     where v.agent_identity = $1 and v.row_id = any ($3) on conflict do nothing',
                   'entry_vectors_g' || made) using from_theme, to_theme, ids;
    execute format('insert into hermes_memory.%1$I (agent_identity, row_id, part, subject, embedding)
                    select $2, v.row_id, v.part, v.subject, v.embedding from hermes_memory.%1$I v
                     where v.agent_identity = $1 and v.row_id = any ($3) on conflict do nothing',
                   'turn_vectors_g' || made) using from_theme, to_theme, ids;
  end loop;
  -- Whoever has claimed a job finds its row gone; the moved one is due at once.
  insert into hermes_memory.embedding_jobs
    (agent_identity, row_id, generation, subject, kind, content_hash, attempts, not_before, parked_reason)
  select to_theme, j.row_id, j.generation, j.subject, j.kind, j.content_hash, j.attempts, now(), j.parked_reason
    from hermes_memory.embedding_jobs j where j.agent_identity = from_theme and j.row_id = any (ids)
      on conflict do nothing;
end $$;

-- Lets the history of memories that move say in the other theme as well that parts of it were erased, and which, of
-- each erasure by a record of its own: two of them took two changes that made what the next ones found. Where a change
-- was left there by an earlier move, and all of the history was erased since, it is said under another id: what was
-- left is on record as moved, and says of no memory that it stands.
create function hermes_memory.carry_erasures(from_theme text, to_theme text, rows uuid[]) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  carried record;
begin
  for carried in
    with records as materialized (
      select e.erasure, gen_random_uuid() as id
        from (select distinct h.erasure from hermes_memory.history h
               where h.agent_identity = from_theme and h.row_id = any (rows) and h.erasure is not null) e),
    copied as (
      insert into hermes_memory.history
        (agent_identity, subject, id, row_id, operation, change, target, origin, at, recorded_at, merged_into, erasure,
         row_hash)
      select to_theme, h.subject, case when t.id is null then h.id else gen_random_uuid() end, h.row_id, h.operation,
             h.change, h.target, h.origin, h.at, h.recorded_at, h.merged_into, r.id, h.row_hash
        from hermes_memory.history h
        join records r on r.erasure = h.erasure
        left join hermes_memory.history t on t.agent_identity = to_theme and t.id = h.id
       where h.agent_identity = from_theme and h.row_id = any (rows)
         and (t.id is null
              or (not exists (select from hermes_memory.history n
                               where n.agent_identity = from_theme and n.row_id = h.row_id and n.erasure is null
                                 and n.change <> 'erased')
                  and not exists (select from hermes_memory.history n
                                    join hermes_memory.history o on o.agent_identity = to_theme and o.id = n.erasure
                                   where n.agent_identity = to_theme and n.row_id = h.row_id
                                     and n.recorded_at >= h.recorded_at and strpos(o.reason, n.row_id::text) > 0)))
          on conflict do nothing
      returning id, erasure)
    select c.erasure as record_id, array_agg(c.id order by c.id) as ids from copied c group by c.erasure
  loop
    perform hermes_memory.note_erasure(to_theme, carried.record_id, carried.ids);
  end loop;
end $$;

-- Takes changes from the history of one theme to that of another, where they are sealed anew. What was sealed stays
-- proven: the old theme keeps their hashes, as of an erasure, under the seals that were published of it, and the salt
-- goes along, so that whoever has the change can still show that it is the one under the old seal. A theme that a
-- change comes back to keeps what is left of it there and gets the change under a new id, as does one that has another
-- change under that id.
create function hermes_memory.move_changes(from_theme text, to_theme text, ids uuid[]) returns bigint
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  insert into hermes_memory.history
    (agent_identity, subject, id, row_id, operation, change, target, old_content, new_content, origin, tool, session_id,
     reason, at, said_at, recorded_at, metadata, merged_into, salt, row_hash)
  select to_theme, h.subject, n.id, h.row_id, h.operation, h.change, h.target, h.old_content, h.new_content, h.origin,
         h.tool, h.session_id, h.reason, h.at, h.said_at, h.recorded_at, h.metadata, h.merged_into, h.salt,
         sha256(h.salt || convert_to(hermes_memory.change_form(
           to_theme, h.subject, n.id, h.row_id, h.operation, h.change, h.target, h.old_content, h.new_content, h.origin,
           h.tool, h.session_id, h.reason, h.at, h.said_at, h.recorded_at, h.metadata, h.merged_into), 'UTF8'))
    from hermes_memory.history h
    join (select o.id as old,
                 case when t.id is null then o.id
                      when t.erasure is null and t.new_content is not distinct from o.new_content then o.id
                      else gen_random_uuid() end as id
            from hermes_memory.history o
            left join hermes_memory.history t on t.agent_identity = to_theme and t.id = o.id
           where o.agent_identity = from_theme and o.id = any (ids)
          offset 0) n on n.old = h.id
   where h.agent_identity = from_theme and h.id = any (ids) and h.erasure is null and h.change <> 'erased'
      on conflict do nothing;
  perform hermes_memory.carry_erasures(from_theme, to_theme, array(
    select distinct h.row_id from hermes_memory.history h where h.agent_identity = from_theme and h.id = any (ids)));
  return hermes_memory.erase_changes(from_theme, ids);
end $$;

-- Holds what whoever takes postings out holds, of both themes, in the order that is the same for everybody.
create function hermes_memory.hold_themes(themes text[]) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  each text;
begin
  foreach each in array array(select distinct u.theme from unnest(themes) as u(theme) order by 1) loop
    perform pg_advisory_xact_lock(hashtextextended(each, 7));
  end loop;
end $$;

-- Moves entries with all that was made of them. One that the other theme has already gives way to it, which its history
-- tells.
create function hermes_memory.move_entries(from_theme text, to_theme text, ids uuid[],
  out entries bigint, out merged_entries bigint, out vectors bigint, out jobs bigint, out changes bigint)
language plpgsql set search_path = pg_catalog, pg_temp set plan_cache_mode = force_custom_plan as $$
declare
  moved uuid[];
begin
  perform hermes_memory.hold_themes(array[from_theme, to_theme]);
  perform from hermes_memory.memory_entries e
    where e.agent_identity = from_theme and e.id = any (ids) order by e.id for update;
  vectors := hermes_memory.count_vectors(from_theme, null, ids);
  perform hermes_memory.unlist_rows(from_theme, ids);
  with stored as (
    insert into hermes_memory.memory_entries
      (agent_identity, id, subject, target, content, content_hash, origin, tool, session_id, source, metadata, said_at,
       created_at, updated_at, operation, lex, lex_key, lex_length)
    select to_theme, e.id, e.subject, e.target, e.content, e.content_hash, e.origin, e.tool, e.session_id, e.source,
           e.metadata, e.said_at, e.created_at, e.updated_at, e.operation, e.lex, e.lex_key, e.lex_length
      from hermes_memory.memory_entries e where e.agent_identity = from_theme and e.id = any (ids)
     order by e.target, e.content_hash
        on conflict do nothing
    returning id)
  select coalesce(array_agg(s.id), '{}') into moved from stored s;
  perform hermes_memory.index_rows(to_theme, moved);
  perform hermes_memory.move_vectors(from_theme, to_theme, moved);
  perform hermes_memory.forget_vectors(from_theme, ids);
  delete from hermes_memory.embedding_jobs j where j.agent_identity = from_theme and j.row_id = any (ids);
  get diagnostics jobs = row_count;
  -- One that moved stands too where the other theme's history of its id is the newer one, which may say that it went
  -- or be erased.
  perform hermes_memory.merge_entries(from_theme, to_theme, array(
    select u.id from unnest(ids) as u(id)
     where u.id <> all (moved)
        or (select max(h.recorded_at) from hermes_memory.history h
             where h.agent_identity = to_theme and h.row_id = u.id and h.change <> 'erased')
           > (select max(h.recorded_at) from hermes_memory.history h
               where h.agent_identity = from_theme and h.row_id = u.id and h.change <> 'erased')));
  delete from hermes_memory.memory_entries e where e.agent_identity = from_theme and e.id = any (ids);
  get diagnostics entries = row_count;
  merged_entries := entries - cardinality(moved);
  perform hermes_memory.carry_erasures(from_theme, to_theme, ids);
  changes := hermes_memory.move_changes(from_theme, to_theme, array(
    select h.id from hermes_memory.history h
     where h.agent_identity = from_theme and h.row_id = any (ids) and h.erasure is null and h.change <> 'erased'));
end $$;

-- Lets entries that another theme has already give way to those: they mirror the same home, and history says so. Of one
-- that has the same id there, it says what stands, and by whom that was written, also where nothing but the history of
-- that id moves. What an entry was is not told where the change that made it so was erased.
create function hermes_memory.merge_entries(from_theme text, to_theme text, ids uuid[]) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  update hermes_memory.memory_entries t set source = f.source
    from hermes_memory.memory_entries f
   where f.agent_identity = from_theme and f.id = any (ids) and f.source is not null
     and t.agent_identity = to_theme and t.subject = f.subject and t.target = f.target
     and t.content_hash = f.content_hash and t.source is null;
  insert into hermes_memory.history
    (agent_identity, subject, id, row_id, operation, change, target, old_content, new_content, origin, tool, session_id,
     reason, at, said_at, recorded_at, metadata, merged_into, salt, row_hash)
  select to_theme, n.subject, n.id, n.row_id, n.operation, 'replaced', n.target, n.before, n.after, n.origin, n.tool,
         n.session_id, n.reason, n.at, n.said_at, n.done, n.metadata, n.twin, n.salt,
         sha256(n.salt || convert_to(hermes_memory.change_form(
           to_theme, n.subject, n.id, n.row_id, n.operation, 'replaced', n.target, n.before, n.after, n.origin, n.tool,
           n.session_id, n.reason, n.at, n.said_at, n.done, n.metadata, n.twin), 'UTF8'))
    from (select t.subject, u.id as row_id, t.target, t.content as after, t.said_at,
                 case when not coalesce(m.erased, false) then coalesce(f.content, t.content) end as before,
                 case when k.same then t.origin else 'operator' end as origin,
                 case when k.same then t.tool else 'remap' end as tool,
                 case when k.same then t.session_id end as session_id, case when k.same then 'remap' end as reason,
                 case when k.same then t.updated_at else k.done end as at, k.done,
                 case when k.same then t.metadata end as metadata, case when not k.same then t.id end as twin,
                 case when k.same then t.operation else gen_random_uuid() end as operation,
                 gen_random_uuid() as id, uuid_send(gen_random_uuid()) as salt
            from unnest(ids) as u(id)
            left join hermes_memory.memory_entries f on f.agent_identity = from_theme and f.id = u.id
            left join lateral (
                 select h.erasure is not null as erased from hermes_memory.history h
                  where h.agent_identity = from_theme and h.row_id = u.id and h.change <> 'erased'
                  order by h.recorded_at desc, 1 limit 1) m on true
           cross join lateral (
                 select e.* from hermes_memory.memory_entries e where e.agent_identity = to_theme and e.id = u.id
                 union all
                 select e.* from hermes_memory.memory_entries e
                  where e.agent_identity = to_theme and e.subject = f.subject and e.target = f.target
                    and e.content_hash = f.content_hash
                 limit 1) t
           cross join lateral (select t.id = u.id as same, clock_timestamp() as done offset 0) k
          offset 0) n;
end $$;

-- Puts the turns of a session into the order in which they were said. Those that come after another one than before
-- wait for new vectors. The session is locked by whoever calls.
create function hermes_memory.order_session(of_theme text, of_subject bytea, of_session text) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  changed uuid[];
begin
  with places as materialized (
    select c.id, c.position, (row_number() over (order by c.ts, c.position) - 1)::int as place
      from hermes_memory.conversations c
     where c.agent_identity = of_theme and c.subject = of_subject and c.session_id = of_session),
  before as (
    select p.id, p.position, p.place, lag(p.id) over (order by p.position) as last_id,
           lag(p.position) over (order by p.position) as last_position from places p),
  after as (
    select b.*, lag(b.id) over (order by b.place) as new_id from before b)
  select coalesce(array_agg(a.id), '{}') into changed from after a
   where case when a.last_position = a.position - 1 then a.last_id end is distinct from a.new_id;
  update hermes_memory.conversations c set position = p.place
    from (select o.id, (row_number() over (order by o.ts, o.position) - 1)::int as place
            from hermes_memory.conversations o
           where o.agent_identity = of_theme and o.subject = of_subject and o.session_id = of_session) p
   where c.agent_identity = of_theme and c.id = p.id and c.position <> p.place;
  update hermes_memory.sessions s
     set turns = (select count(*) from hermes_memory.conversations c
                   where c.agent_identity = of_theme and c.subject = of_subject and c.session_id = of_session)
   where s.agent_identity = of_theme and s.subject = of_subject and s.session_id = of_session;
  perform hermes_memory.embed_anew(of_theme, changed);
end $$;

-- The mark of a turn that was forgotten; see hermes_memory.domain.forgotten, which makes the same.
create function hermes_memory.forgotten_mark(role text, occurrence int, content_hash bytea) returns bytea
language sql immutable strict parallel safe set search_path = pg_catalog, pg_temp as $$
  select sha256(convert_to(role || ' ' || occurrence || ' ', 'UTF8') || content_hash)
$$;

-- Those of some marks that a session takes over from another one of its name: none of a turn that stands in it, which
-- the next move or restore would drop, and none twice. Volatile, so that it sees all that was stored until the session
-- was locked, and not only until the statement began.
create function hermes_memory.marks_besides(of_theme text, of_subject bytea, of_session text, marks bytea)
returns bytea language sql volatile set search_path = pg_catalog, pg_temp as $$
  select case when marks = '' then '' else (
    select coalesce(string_agg(m.mark, '' order by m.n), '')
      from (select substring(marks from 32 * u.n + 1 for 32) as mark, u.n
              from generate_series(0, octet_length(marks) / 32 - 1) as u(n)) m
     where not exists (
           select from hermes_memory.sessions s
            where s.agent_identity = of_theme and s.subject = of_subject and s.session_id = of_session
              and position(m.mark in s.forgotten) > 0)
       and not exists (
           select from hermes_memory.conversations c
            where c.agent_identity = of_theme and c.subject = of_subject and c.session_id = of_session
              and hermes_memory.forgotten_mark(c.role, c.occurrence, c.content_hash) = m.mark)) end
$$;

-- Of a session that is being moved, the last turn that went to the other theme in its place. As long as it is there,
-- what stands there before the turns that are still to be moved is what they were said after.
alter table hermes_memory.sessions add column last_moved uuid;

-- Moves turns with all that was made of them, the first ones of each session first. Those of a session of which the
-- other theme has no turn keep their places. A session of which both have turns becomes one: a turn that is there
-- already gives way, the others come in the order in which all were said, once the last one has moved. What one of the
-- two has forgotten does not come back from the other; what stands in the other one stays there.
--
-- A vector holds words of the turn before. So a turn keeps its vector only if the one before it, where it ends up, is
-- the one that it was embedded after, and waits for a new one otherwise: in a session that becomes one, and where the
-- one before has given way.
create function hermes_memory.move_turns(from_theme text, to_theme text, ids uuid[],
  out turns bigint, out merged_turns bigint, out sessions bigint, out vectors bigint, out jobs bigint)
language plpgsql set search_path = pg_catalog, pg_temp set plan_cache_mode = force_custom_plan as $$
declare
  talk record;
  moved uuid[];
  anew uuid[];
  mixed text[];
  kept bit(256);
begin
  perform hermes_memory.hold_themes(array[from_theme, to_theme]);
  perform hermes_memory.hold_sessions_of(from_theme, ids);
  insert into hermes_memory.sessions as s
    (agent_identity, subject, session_id, parent_session_id, turns, started_at, last_at, forgotten)
  select to_theme, c.subject, c.session_id, min(f.parent_session_id), max(greatest(f.turns, c.position + 1)),
         min(least(f.started_at, c.ts)), max(greatest(f.last_at, c.ts)), coalesce(f.forgotten, '')
    from hermes_memory.conversations c
    left join hermes_memory.sessions f
      on f.agent_identity = c.agent_identity and f.subject = c.subject and f.session_id = c.session_id
   where c.agent_identity = from_theme and c.id = any (ids)
   group by c.subject, c.session_id, f.forgotten order by c.subject, c.session_id
      on conflict (agent_identity, subject, session_id)
      do update set parent_session_id = coalesce(s.parent_session_id, excluded.parent_session_id),
                    turns = greatest(s.turns, excluded.turns),
                    forgotten = s.forgotten || hermes_memory.marks_besides(
                      s.agent_identity, s.subject, s.session_id, excluded.forgotten),
                    started_at = least(s.started_at, excluded.started_at),
                    last_at = greatest(s.last_at, excluded.last_at),
                    last_moved = null;
  perform from hermes_memory.conversations c
    where c.agent_identity = from_theme and c.id = any (ids) order by c.id for update;
  vectors := hermes_memory.count_vectors(from_theme, null, ids);
  perform hermes_memory.unlist_rows(from_theme, ids);
  select coalesce(array_agg(encode(t.subject, 'hex') || ' ' || t.session_id), '{}') into mixed
    from (select c.subject, c.session_id, min(c.position) as first from hermes_memory.conversations c
           where c.agent_identity = from_theme and c.id = any (ids) group by c.subject, c.session_id) t
    left join hermes_memory.sessions f
      on f.agent_identity = from_theme and f.subject = t.subject and f.session_id = t.session_id
    left join hermes_memory.conversations l
      on l.agent_identity = to_theme and l.id = f.last_moved and l.subject = t.subject and l.session_id = t.session_id
   where exists (select from hermes_memory.conversations o
                  where o.agent_identity = to_theme and o.subject = t.subject and o.session_id = t.session_id
                    and o.position >= case when l.id is null then 0 else t.first end);
  with told as (
    select c.*, encode(c.subject, 'hex') || ' ' || c.session_id = any (mixed) as late,
           s.turns + row_number() over (partition by c.subject, c.session_id order by c.position) - 1 as behind
      from hermes_memory.conversations c
      join hermes_memory.sessions s
        on s.agent_identity = to_theme and s.subject = c.subject and s.session_id = c.session_id
     where c.agent_identity = from_theme and c.id = any (ids)
       and position(hermes_memory.forgotten_mark(c.role, c.occurrence, c.content_hash) in s.forgotten) = 0),
  stored as (
    insert into hermes_memory.conversations
      (agent_identity, id, subject, session_id, parent_session_id, position, role, speaker, content, content_hash,
       occurrence, origin, embed, metadata, ts, created_at, operation, row_hash, lex, lex_key, lex_length)
    select to_theme, t.id, t.subject, t.session_id, t.parent_session_id,
           case when t.late then t.behind else t.position end, t.role, t.speaker, t.content, t.content_hash,
           t.occurrence, t.origin, t.embed, t.metadata, t.ts, t.created_at, t.operation,
           -- One that was altered stays known as that.
           case when t.row_hash = hermes_memory.turn_hash(
                       from_theme, t.subject, t.id, t.session_id, t.role, t.speaker, t.content_hash, t.occurrence,
                       t.origin, t.embed, t.metadata, t.ts, t.created_at, t.operation)
                then hermes_memory.turn_hash(
                       to_theme, t.subject, t.id, t.session_id, t.role, t.speaker, t.content_hash, t.occurrence,
                       t.origin, t.embed, t.metadata, t.ts, t.created_at, t.operation)
                else t.row_hash end,
           t.lex, t.lex_key, t.lex_length
      from told t
        on conflict do nothing
    returning id, subject, session_id)
  select coalesce(array_agg(s.id), '{}'),
         coalesce(array_agg(s.id) filter (where encode(s.subject, 'hex') || ' ' || s.session_id = any (mixed)), '{}')
    into moved, anew from stored s;
  anew := anew || array(
    select c.id from hermes_memory.conversations c
     where c.agent_identity = to_theme and c.id = any (moved) and c.id <> all (anew) and c.position > 0
       and not exists (
           select from hermes_memory.conversations o
            where o.agent_identity = to_theme and o.subject = c.subject and o.session_id = c.session_id
              and o.position = c.position - 1));
  perform hermes_memory.index_rows(to_theme, moved);
  perform hermes_memory.move_vectors(
    from_theme, to_theme, array(select u.id from unnest(moved) as u(id) where u.id <> all (anew)));
  perform hermes_memory.embed_anew(to_theme, anew);
  perform hermes_memory.forget_vectors(from_theme, ids);
  delete from hermes_memory.embedding_jobs j where j.agent_identity = from_theme and j.row_id = any (ids);
  get diagnostics jobs = row_count;
  sessions := 0;
  for talk in
    with gone as (
      delete from hermes_memory.conversations c where c.agent_identity = from_theme and c.id = any (ids)
      returning c.subject, c.session_id, c.row_hash)
    select g.subject, g.session_id, count(*) as gone, bit_xor(hermes_memory.tally_of(g.row_hash)) as tally
      from gone g group by g.subject, g.session_id
     order by g.subject, g.session_id
  loop
    turns := coalesce(turns, 0) + talk.gone;
    update hermes_memory.sessions s
       set turns = greatest(s.turns, (select max(c.position) + 1 from hermes_memory.conversations c
                                       where c.agent_identity = to_theme and c.subject = talk.subject
                                         and c.session_id = talk.session_id)),
           tally = s.tally # coalesce((
             select bit_xor(hermes_memory.tally_of(c.row_hash)) from hermes_memory.conversations c
              where c.agent_identity = to_theme and c.id = any (moved) and c.subject = talk.subject
                and c.session_id = talk.session_id), 0::bit(256))
     where s.agent_identity = to_theme and s.subject = talk.subject and s.session_id = talk.session_id;
    delete from hermes_memory.sessions s
     where s.agent_identity = from_theme and s.subject = talk.subject and s.session_id = talk.session_id
       and not exists (select from hermes_memory.conversations c
                        where c.agent_identity = from_theme and c.subject = s.subject and c.session_id = s.session_id)
    returning s.tally into kept;
    if found then
      sessions := sessions + 1;
      -- What was missing there, or too much, is so here.
      update hermes_memory.sessions s set tally = s.tally # kept # talk.tally
       where s.agent_identity = to_theme and s.subject = talk.subject and s.session_id = talk.session_id
         and kept <> talk.tally;
      if encode(talk.subject, 'hex') || ' ' || talk.session_id = any (mixed) then
        perform hermes_memory.order_session(to_theme, talk.subject, talk.session_id);
      end if;
    else
      update hermes_memory.sessions s
         set tally = s.tally # talk.tally,
             last_moved = case when encode(talk.subject, 'hex') || ' ' || talk.session_id <> all (mixed) then coalesce(
               (select c.id from hermes_memory.conversations c
                 where c.agent_identity = to_theme and c.subject = talk.subject and c.session_id = talk.session_id
                   and c.id = any (moved) order by c.position desc limit 1), s.last_moved) end
       where s.agent_identity = from_theme and s.subject = talk.subject and s.session_id = talk.session_id;
    end if;
  end loop;
  turns := coalesce(turns, 0);
  merged_turns := turns - cardinality(moved);
end $$;

-- Vectors whose rows are gone, over all generations: counts them, or removes up to so many and counts those.
create function hermes_memory.orphaned_vectors(most int, remove boolean) returns bigint
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  vectors record;
  found bigint;
  total bigint := 0;
begin
  for vectors in
    select k.kind || m.generation as name, k.rows from hermes_memory.embedding_models m
     cross join (values ('entry_vectors_g', 'memory_entries'), ('turn_vectors_g', 'conversations')) as k(kind, rows)
     order by 1
  loop
    if remove then
      execute format('with doomed as materialized (
                        select v.row_id, v.agent_identity, v.part from hermes_memory.%1$I v
                         where not exists (select from hermes_memory.%2$I r
                                            where r.id = v.row_id and r.agent_identity = v.agent_identity) limit $1),
                      gone as (
                        delete from hermes_memory.%1$I v using doomed d
                         where v.row_id = d.row_id and v.agent_identity = d.agent_identity and v.part = d.part
                        returning 1)
                      select count(*) from gone', vectors.name, vectors.rows)
        into found using most - total;
    else
      execute format('select count(*) from hermes_memory.%1$I v
                       where not exists (select from hermes_memory.%2$I r
                                          where r.id = v.row_id and r.agent_identity = v.agent_identity)',
                     vectors.name, vectors.rows) into found;
    end if;
    total := total + found;
    exit when remove and total >= most;
  end loop;
  return total;
end $$;

-- How many rows are to have a vector of a generation that is fed, and neither have one nor wait for it.
create function hermes_memory.count_lacking_rows() returns bigint
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
  lacking record;
  found bigint;
  total bigint := 0;
begin
  for lacking in
    select m.generation, k.kind || '_vectors_g' || m.generation as vectors, k.rows, k.wanted
      from hermes_memory.embedding_models m
     cross join (values ('entry', 'memory_entries', 'true'),
                        ('turn', 'conversations', 'r.embed')) as k(kind, rows, wanted)
     where m.fed
  loop
    execute format('select count(*) from hermes_memory.%1$I r
                     where %3$s
                       and not exists (select from hermes_memory.%2$I v
                                        where v.row_id = r.id and v.agent_identity = r.agent_identity)
                       and not exists (select from hermes_memory.embedding_jobs j
                                        where j.agent_identity = r.agent_identity and j.row_id = r.id
                                          and j.generation = $1)', lacking.rows, lacking.vectors, lacking.wanted)
      into found using lacking.generation;
    total := total + found;
  end loop;
  return total;
end $$;
