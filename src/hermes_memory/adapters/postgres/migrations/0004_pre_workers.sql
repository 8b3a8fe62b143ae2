-- The few questions and acts that concern rows of all themes: the embed stage and the operator's counts. Each runs as
-- the owner, does one thing, and gives away no more than its worker needs.

-- Takes due jobs of a generation, by default the active one, for a time. Those that failed before come last. A job
-- whose row is gone comes with no content, to be ended. A turn comes with the end of the one before it in its session.
create function hermes_memory.claim_embedding_jobs(wanted int, lease_seconds double precision, context_characters int,
                                                   of_generation int default null)
returns table (agent_identity text, row_id uuid, generation int, subject bytea, kind text, content text,
               content_hash bytea, attempts int, previous text, previous_hash bytea)
language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off as $$
begin
  -- EXECUTE plans for the values at hand: a cached plan would expect any number of jobs and scan them all, as any plan
  -- may that is made while the table's statistics are behind.
  return query execute $q$
    with due as materialized (
      select j.agent_identity, j.row_id, j.generation from hermes_memory.embedding_jobs j
       where j.generation = coalesce($4, (select i.active_generation from hermes_memory.installation i))
         and j.parked_reason is null and j.not_before <= now()
       order by j.attempts, j.not_before limit $1 for update skip locked),
    taken as (
      update hermes_memory.embedding_jobs j set not_before = now() + make_interval(secs => $2) from due d
       where j.agent_identity = d.agent_identity and j.row_id = d.row_id and j.generation = d.generation
      returning j.agent_identity, j.row_id, j.generation, j.subject, j.kind, j.content_hash, j.attempts)
    select t.agent_identity, t.row_id, t.generation, t.subject, t.kind, coalesce(e.content, c.content), t.content_hash,
           t.attempts, right(p.content, $3), p.content_hash
      from taken t
      left join hermes_memory.memory_entries e
        on t.kind = 'entry' and e.agent_identity = t.agent_identity and e.id = t.row_id
      left join hermes_memory.conversations c
        on t.kind = 'turn' and c.agent_identity = t.agent_identity and c.id = t.row_id
      left join hermes_memory.conversations p
        on p.agent_identity = c.agent_identity and p.subject = c.subject and p.session_id = c.session_id
       and p.position = c.position - 1
     order by t.attempts$q$ using wanted, lease_seconds, context_characters, of_generation;
end $$;

-- Stores the vectors of jobs of one generation and ends the jobs. Theme, subject and target are copied from the row,
-- never taken from the worker; a row that changed since is passed over, and so is a turn whose text held words of the
-- one before it, by `previous` hash, which is not there any more. A row has `counts` vectors, one for each part of its
-- text, which take the place of all it had. They come one after the other in `embeddings`, `dimension` numbers each.
--
-- The row's lock keeps it from being changed or removed before its vectors are there to be removed with it. A row that
-- somebody holds is passed over, and its job is due again soon: deliveries change rows in the order in which they were
-- told to, so waiting for several rows here would end in deadlocks.
create function hermes_memory.store_vectors(of_generation int, themes text[], ids uuid[], kinds text[], hashes bytea[],
                                            previous bytea[], counts int[], dimension int, embeddings real[])
returns void language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  entries uuid[];
  turns uuid[];
begin
  execute format($q$
    with told as (
      select u.*, (sum(u.parts) over (order by u.n) - u.parts)::int as earlier
        from unnest($1, $2, $3, $4, $5) with ordinality as u(theme, id, kind, hash, parts, n)),
    held as materialized (
      select r.agent_identity, r.id, r.subject, r.target, u.earlier, u.parts, u.n
        from told u
        join hermes_memory.memory_entries r on r.agent_identity = u.theme and r.id = u.id and r.content_hash = u.hash
       where u.kind = 'entry' for share of r skip locked),
    gone as (
      delete from hermes_memory.%1$I v using held h
       where v.agent_identity = h.agent_identity and v.row_id = h.id and v.part >= h.parts),
    stored as (
      insert into hermes_memory.%1$I (agent_identity, row_id, part, subject, target, embedding)
      select h.agent_identity, h.id, p.part, h.subject, h.target,
             ($6[(h.earlier + p.part) * $7 + 1 : (h.earlier + p.part + 1) * $7])::public.halfvec
        from held h cross join lateral generate_series(0, h.parts - 1) as p(part) order by h.n, p.part
      on conflict (row_id, agent_identity, part) do update set embedding = excluded.embedding)
    select array_agg(h.id) from held h$q$,
    'entry_vectors_g' || of_generation) into entries using themes, ids, kinds, hashes, counts, embeddings, dimension;
  execute format($q$
    with told as (
      select u.*, (sum(u.parts) over (order by u.n) - u.parts)::int as earlier
        from unnest($1, $2, $3, $4, $5, $8) with ordinality as u(theme, id, kind, hash, parts, previous, n)),
    alone as materialized (
      select r.agent_identity, r.id, r.subject, u.earlier, u.parts, u.n
        from told u
        join hermes_memory.conversations r on r.agent_identity = u.theme and r.id = u.id and r.content_hash = u.hash
       where u.kind = 'turn' and u.previous is null for share of r skip locked),
    following as materialized (
      select r.agent_identity, r.id, r.subject, u.earlier, u.parts, u.n
        from told u
        join hermes_memory.conversations r on r.agent_identity = u.theme and r.id = u.id and r.content_hash = u.hash
        join hermes_memory.conversations p
          on p.agent_identity = r.agent_identity and p.subject = r.subject and p.session_id = r.session_id
         and p.position = r.position - 1 and p.content_hash = u.previous
       where u.kind = 'turn' for share of r, p skip locked),
    held as (
      select * from alone union all select * from following),
    gone as (
      delete from hermes_memory.%1$I v using held h
       where v.agent_identity = h.agent_identity and v.row_id = h.id and v.part >= h.parts),
    stored as (
      insert into hermes_memory.%1$I (agent_identity, row_id, part, subject, embedding)
      select h.agent_identity, h.id, p.part, h.subject,
             ($6[(h.earlier + p.part) * $7 + 1 : (h.earlier + p.part + 1) * $7])::public.halfvec
        from held h cross join lateral generate_series(0, h.parts - 1) as p(part) order by h.n, p.part
      on conflict (row_id, agent_identity, part) do update set embedding = excluded.embedding)
    select array_agg(h.id) from held h$q$,
    'turn_vectors_g' || of_generation)
    into turns using themes, ids, kinds, hashes, counts, embeddings, dimension, previous;
  delete from hermes_memory.embedding_jobs j using unnest(themes, ids, hashes) as u(theme, id, hash)
   where j.agent_identity = u.theme and j.row_id = u.id and j.generation = of_generation and j.content_hash = u.hash
     and u.id = any (entries || turns);
  update hermes_memory.embedding_jobs j set not_before = clock_timestamp() + interval '1 second'
    from (select k.agent_identity, k.row_id, k.generation
            from hermes_memory.embedding_jobs k join unnest(themes, ids, hashes) as u(theme, id, hash)
              on k.agent_identity = u.theme and k.row_id = u.id and k.content_hash = u.hash
           where k.generation = of_generation for update of k skip locked) passed
   where j.agent_identity = passed.agent_identity and j.row_id = passed.row_id and j.generation = passed.generation;
end $$;

-- Ends jobs, as long as they are for the content that the worker saw.
create function hermes_memory.end_embedding_jobs(of_generation int, themes text[], ids uuid[], hashes bytea[])
returns void language sql security definer set search_path = pg_catalog, pg_temp as $$
  delete from hermes_memory.embedding_jobs j using unnest(themes, ids, hashes) as u(theme, id, hash)
   where j.agent_identity = u.theme and j.row_id = u.id and j.generation = of_generation and j.content_hash = u.hash
$$;

-- Gives jobs back until a time from now, and counts the attempt.
create function hermes_memory.postpone_embedding_jobs(of_generation int, themes text[], ids uuid[], hashes bytea[],
                                                      seconds double precision)
returns void language sql security definer set search_path = pg_catalog, pg_temp as $$
  update hermes_memory.embedding_jobs j
     set attempts = j.attempts + 1, not_before = clock_timestamp() + make_interval(secs => seconds)
    from unnest(themes, ids, hashes) as u(theme, id, hash)
   where j.agent_identity = u.theme and j.row_id = u.id and j.generation = of_generation and j.content_hash = u.hash
$$;

-- Keeps claimed jobs for some more time from now, or gives them back with 0; no attempt is counted.
create function hermes_memory.hold_embedding_jobs(of_generation int, themes text[], ids uuid[], hashes bytea[],
                                                  seconds double precision)
returns void language sql security definer set search_path = pg_catalog, pg_temp as $$
  update hermes_memory.embedding_jobs j set not_before = clock_timestamp() + make_interval(secs => seconds)
    from (select k.agent_identity, k.row_id, k.generation
            from hermes_memory.embedding_jobs k join unnest(themes, ids, hashes) as u(theme, id, hash)
              on k.agent_identity = u.theme and k.row_id = u.id and k.content_hash = u.hash
           -- Asked like this, the index of what is due cannot answer: it would be read whole for every job.
           where k.generation = of_generation and num_nulls(k.parked_reason) = 1 for update of k skip locked) held
   where j.agent_identity = held.agent_identity and j.row_id = held.row_id and j.generation = held.generation
$$;

-- Sets a job aside that cannot succeed.
create function hermes_memory.park_embedding_job(of_generation int, theme text, id uuid, hash bytea, reason text)
returns void language sql security definer set search_path = pg_catalog, pg_temp as $$
  update hermes_memory.embedding_jobs j set attempts = j.attempts + 1, parked_reason = reason
   where j.agent_identity = theme and j.row_id = id and j.generation = of_generation and j.content_hash = hash
$$;

-- How many rows wait for a vector of a generation, by default the active one.
create function hermes_memory.embedding_backlog(of_generation int default null)
returns table (waiting bigint, parked bigint)
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select count(*) filter (where j.parked_reason is null), count(*) filter (where j.parked_reason is not null)
    from hermes_memory.embedding_jobs j
   where j.generation = coalesce(of_generation, (select i.active_generation from hermes_memory.installation i))
$$;

-- Stores the measured cosine levels of a generation.
create function hermes_memory.calibrate_generation(wanted int, unrelated double precision, related double precision)
returns void language sql security definer set search_path = pg_catalog, pg_temp as $$
  update hermes_memory.embedding_models m set unrelated_cosine = unrelated, related_cosine = related
   where m.generation = wanted
$$;

-- How much there is of everything, over all themes: numbers alone.
create function hermes_memory.store_counts()
returns table (themes bigint, entries bigint, turns bigint, vectors bigint, waiting bigint, parked bigint)
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
declare
  active int := (select i.active_generation from hermes_memory.installation i);
begin
  select count(*) into themes from hermes_memory.memory_agents;
  select count(*) into entries from hermes_memory.memory_entries;
  select count(*) into turns from hermes_memory.conversations;
  select b.waiting, b.parked into waiting, parked from hermes_memory.embedding_backlog() b;
  vectors := 0;
  if active is not null then
    execute format('select (select count(*) from hermes_memory.%I where part = 0)
                         + (select count(*) from hermes_memory.%I where part = 0)',
                   'entry_vectors_g' || active, 'turn_vectors_g' || active) into vectors;
  end if;
  return next;
end $$;

-- Which of these contents mirror a home's files under somebody's subject. Whoever asks shows the content itself, so the
-- answer tells nothing new.
create function hermes_memory.private_copies(home text, targets text[], hashes bytea[])
returns table (target text, content_hash bytea)
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select distinct e.target, e.content_hash from hermes_memory.memory_entries e
    join unnest(targets, hashes) as u(target, hash) on e.target = u.target and e.content_hash = u.hash
   where e.source = home and e.subject <> ''
$$;
