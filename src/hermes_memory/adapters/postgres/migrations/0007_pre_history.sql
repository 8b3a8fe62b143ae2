-- History that can be read back, proven and taken away. A change is noted with all that it takes to show the memory as
-- it stood; seals bind the changes of a theme into a chain; an erasure takes the texts and leaves what the chain needs.

-- recorded_at is the database's own time: the clocks of hosts disagree, and what stood when must not depend on them.
-- An entry that becomes equal to another one is merged into that. A tombstone names the record of its erasure.
alter table hermes_memory.history
  add column said_at timestamptz,
  add column metadata jsonb,
  add column merged_into uuid,
  add column recorded_at timestamptz not null default clock_timestamp(),
  add column erasure uuid;
-- The hash of a tombstone cannot be tried any more, so nothing may be told in what it was made of. Nothing erases a
-- tombstone or the record of an erasure, so neither may hold what somebody said.
alter table hermes_memory.history add constraint tombstones_tell_nothing
  check ((erasure is null) = (salt is not null)
         and (salt is not null or reason is null)
         and ((salt is not null and change <> 'erased')
              or num_nonnulls(old_content, new_content, tool, session_id, said_at, metadata) = 0));
-- What reads a change knows what it is of and by whom. Of what was said nothing but that it was forgotten is told.
alter table hermes_memory.history add constraint changes_are_of_what_is_known
  check (origin in ('user', 'assistant', 'tool', 'agent', 'import', 'operator')
         and case target when 'turn' then num_nonnulls(old_content, new_content) = 0
                         when '' then change = 'erased'
                         else target in ('memory', 'user') and change <> 'erased' end);
select hermes_memory.raise_wall('history');
drop index hermes_memory.history_row;
create index history_of_row on hermes_memory.history (row_id, agent_identity, recorded_at);
create index history_operation on hermes_memory.history (agent_identity, operation);
create index history_gone on hermes_memory.history (recorded_at)
  where erasure is null and (change = 'removed' or merged_into is not null);
create index history_erasure on hermes_memory.history (agent_identity, erasure) where erasure is not null;
create index history_subject on hermes_memory.history (subject) where subject <> '';

-- Which changes a seal is about, so that one that is missing can be named.
alter table hermes_memory.seals add column ids uuid[] not null;

-- A moment as the hashes write it: microseconds since 1970.
create function hermes_memory.microseconds(moment timestamptz) returns text
language sql immutable parallel safe
return case when isfinite(moment) then ((extract(epoch from moment) * 1000000)::bigint)::text else moment::text end;

-- The one spelling of a change, which its hash is made of: a JSON array of texts.
create function hermes_memory.change_form(
  theme text, subject bytea, id uuid, row_id uuid, operation uuid, change text, target text, old_content text,
  new_content text, origin text, tool text, session_id text, reason text, at timestamptz, said_at timestamptz,
  recorded_at timestamptz, metadata jsonb, merged_into uuid) returns text
language sql stable parallel safe
return jsonb_build_array(
  theme, encode(subject, 'hex'), id::text, row_id::text, operation::text, change, target, old_content, new_content,
  origin, tool, session_id, reason, hermes_memory.microseconds(at), hermes_memory.microseconds(said_at),
  hermes_memory.microseconds(recorded_at), metadata::text, merged_into::text)::text;

-- The hash of a turn: of all that is told of it but its place among the others and the session before its own, which
-- moves and erasures change.
create function hermes_memory.turn_hash(
  theme text, subject bytea, id uuid, session_id text, role text, speaker text, content_hash bytea, occurrence int,
  origin text, embed boolean, metadata jsonb, ts timestamptz, created_at timestamptz, operation uuid) returns bytea
language sql stable parallel safe
return sha256(convert_to(jsonb_build_array(
  theme, encode(subject, 'hex'), id::text, session_id, role, speaker, encode(content_hash, 'hex'), occurrence::text,
  origin, embed::text, metadata::text, hermes_memory.microseconds(ts), hermes_memory.microseconds(created_at),
  operation::text)::text, 'UTF8'));

-- A hash as a tally of hashes has it.
create function hermes_memory.tally_of(hash bytea) returns bit
language sql immutable strict parallel safe
return ('x' || encode(hash, 'hex'))::bit(256);

-- The root of a Merkle tree over hashes: leaves and nodes are told apart by their first byte, an odd one moves up.
create function hermes_memory.merkle_root(hashes bytea[]) returns bytea
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
declare
  level bytea[] := array(select sha256('\x00'::bytea || h.hash)
                           from unnest(hashes) with ordinality as h(hash, n) order by h.n);
begin
  while cardinality(level) > 1 loop
    level := array(
      select case when count(*) = 2 then sha256('\x01'::bytea || (array_agg(h.hash order by h.n))[1]
                                                              || (array_agg(h.hash order by h.n))[2])
                  else (array_agg(h.hash))[1] end
        from unnest(level) with ordinality as h(hash, n) group by (h.n - 1) / 2 order by (h.n - 1) / 2);
  end loop;
  return level[1];
end $$;

-- Seals up to so many changes: one seal for each theme among them, chained to the one before. Where another one seals
-- already it does nothing. Whoever calls it chooses neither what is sealed nor how.
create function hermes_memory.seal_history(most int)
returns table (theme text, seal bigint, changes int, chained bytea, at timestamptz)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  batch record;
  before record;
  root bytea;
  prev bytea;
begin
  if not pg_try_advisory_xact_lock(hashtextextended('hermes_memory seals', 0)) then
    return;
  end if;
  for batch in
    select h.agent_identity, array_agg(h.id order by h.id) as ids, array_agg(h.row_hash order by h.id) as hashes
      from (select u.agent_identity, u.id, u.row_hash from hermes_memory.history u where u.seal is null limit most) h
     group by h.agent_identity order by h.agent_identity
  loop
    select s.seal, s.chained into before from hermes_memory.seals s
     where s.agent_identity = batch.agent_identity order by s.seal desc limit 1;
    theme := batch.agent_identity;
    seal := coalesce(before.seal, 0) + 1;
    changes := cardinality(batch.ids);
    prev := coalesce(before.chained, decode(repeat('00', 32), 'hex'));
    root := hermes_memory.merkle_root(batch.hashes);
    at := clock_timestamp();
    chained := sha256(prev || root || convert_to(
      jsonb_build_array(theme, seal::text, changes::text, hermes_memory.microseconds(at))::text, 'UTF8'));
    insert into hermes_memory.seals (agent_identity, seal, n, root, prev, chained, at, ids)
    values (theme, seal, changes, root, prev, chained, at, batch.ids);
    update hermes_memory.history h set seal = seal_history.seal
     where h.agent_identity = batch.agent_identity and h.id = any (batch.ids) and h.seal is null;
    return next;
  end loop;
end $$;

-- What the chains of themes hold at given places, for comparison with what was published; nothing for a place that is
-- not there.
create function hermes_memory.seal_heads(themes text[], numbers bigint[])
returns table (theme text, seal bigint, chained bytea)
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select s.agent_identity, s.seal, s.chained from hermes_memory.seals s
    join unnest(themes, numbers) as u(theme, number) on s.agent_identity = u.theme and s.seal = u.number
$$;

-- How many changes wait for their seal, and since when.
create function hermes_memory.seal_lag() returns table (waiting bigint, oldest timestamptz)
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select count(*), min(h.recorded_at) from hermes_memory.history h where h.seal is null
$$;

-- Notes that texts of changes of one theme were erased: how many and, by a digest, which, and after that the entries
-- that stay, though their history is gone. It is a change of its own, and so part of the chain. For the owner alone.
create function hermes_memory.note_erasure(theme text, record_id uuid, taken uuid[]) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  salt bytea := uuid_send(gen_random_uuid());
  nobody bytea := '';
  done timestamptz := clock_timestamp();
  standing text;
  why text;
begin
  -- The sinks want a subject on every row; it is nobody's.
  if exists (select from hermes_memory.sinks s where s.theme = note_erasure.theme) then
    nobody := sha256(uuid_send(gen_random_uuid()));
  end if;
  select string_agg(e.id::text, ' ' order by e.id) into standing
    from hermes_memory.memory_entries e
   where e.agent_identity = theme
     and e.id in (select h.row_id from hermes_memory.history h where h.agent_identity = theme and h.id = any (taken));
  select concat_ws(' ', cardinality(taken),
                   encode(sha256(string_agg(uuid_send(t.id), ''::bytea order by t.id)), 'hex'), standing)
    into why from unnest(taken) as t(id);
  insert into hermes_memory.history
    (agent_identity, subject, id, row_id, change, target, origin, operation, reason, at, recorded_at, salt, row_hash)
  values (theme, nobody, record_id, record_id, 'erased', '', 'operator', record_id, why, done, done, salt,
          sha256(salt || convert_to(hermes_memory.change_form(
            theme, nobody, record_id, record_id, record_id, 'erased', '', null, null, 'operator', null, null, why, done,
            null, done, null, null), 'UTF8')));
end $$;

-- Takes the texts of changes of one theme and leaves their hashes, without the salts that would let anybody try texts
-- against them, and notes it. Returns how many there were. For the owner alone.
create function hermes_memory.erase_changes(theme text, ids uuid[]) returns bigint
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  record_id uuid := gen_random_uuid();
  nobody bytea := sha256(uuid_send(gen_random_uuid()));
  taken uuid[];
begin
  with erased as (
    update hermes_memory.history h
       set old_content = null, new_content = null, metadata = null, said_at = null, salt = null, tool = null,
           session_id = null, reason = null, erasure = record_id,
           -- It is not that of the person any more, and nobody's else.
           subject = case when h.subject = '' then h.subject else nobody end
     where h.agent_identity = theme and h.id = any (ids) and h.erasure is null
    returning h.id)
  select array_agg(e.id order by e.id) into taken from erased e;
  if taken is null then
    return 0;
  end if;
  perform hermes_memory.note_erasure(theme, record_id, taken);
  return cardinality(taken);
end $$;

-- Erases the history of up to so many entries that were forgotten longer ago than the installation keeps them; returns
-- the number of changes. Nothing that is still remembered is touched, whatever its history says.
create function hermes_memory.expire_forgotten(most int) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  gone record;
  erased bigint := 0;
  until timestamptz := clock_timestamp() - make_interval(secs => 86400 * (select i.forgotten_days
                                                                            from hermes_memory.installation i));
begin
  if not pg_try_advisory_xact_lock(hashtextextended('hermes_memory forgotten', 0)) then
    return 0;
  end if;
  for gone in
    select f.agent_identity, array_agg(h.id) as ids
      from (select g.agent_identity, g.row_id from hermes_memory.history g
             where g.erasure is null and (g.change = 'removed' or g.merged_into is not null)
               and g.recorded_at < until
               and not exists (select from hermes_memory.memory_entries e
                                where e.agent_identity = g.agent_identity and e.id = g.row_id)
             order by g.recorded_at limit most) f
      join hermes_memory.history h on h.agent_identity = f.agent_identity and h.row_id = f.row_id and h.erasure is null
     group by f.agent_identity order by f.agent_identity
  loop
    erased := erased + hermes_memory.erase_changes(gone.agent_identity, gone.ids);
  end loop;
  return erased;
end $$;
