-- Changing the embedding model while agents work: a generation is registered, its rows are queued some at a time, it is
-- filled by whoever embeds for it, indexed without stopping anybody, switched to by one row, and the old one dropped.

-- Lets rows of a kind wait for a vector of a generation: up to `most` of them in the order of their ids and themes,
-- since two themes may have rows of one id, those after a place. Returns how many wait now that did not, and the last
-- place it looked at, null when there are no more.
--
-- A row that has a vector or a job is left alone. An entry that is being changed is passed over: who changes it queues
-- it, and a wait for it here could end in a deadlock. So a pass over all rows is repeated until it finds none.
create function hermes_memory.queue_rows(of_generation int, of_kind text, after uuid, after_theme text, most int,
                                         out queued bigint, out last uuid, out last_theme text)
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  rows_of text := case of_kind when 'entry' then 'memory_entries' when 'turn' then 'conversations' end;
  wanted text := case of_kind when 'entry' then 'true' when 'turn' then 'r.embed' end;
begin
  execute format($q$
    with seen as materialized (
      select r.id, r.agent_identity, %2$s as wanted from hermes_memory.%1$I r
       where $2 is null or (r.id, r.agent_identity) > ($2, $5 collate "C")
       order by r.id, r.agent_identity limit $3),
    bare as materialized (
      select s.id, s.agent_identity from seen s
       where s.wanted
         and not exists (select from hermes_memory.%3$I v where v.row_id = s.id and v.agent_identity = s.agent_identity)
         and not exists (select from hermes_memory.embedding_jobs j
                          where j.agent_identity = s.agent_identity and j.row_id = s.id and j.generation = $1)),
    held as materialized (
      select r.agent_identity, r.id, r.subject, r.content_hash
        from hermes_memory.%1$I r join bare b on b.agent_identity = r.agent_identity and b.id = r.id
         for key share of r skip locked),
    added as (
      insert into hermes_memory.embedding_jobs
        (agent_identity, row_id, generation, subject, kind, content_hash, not_before)
      select h.agent_identity, h.id, $1, h.subject, $4, h.content_hash, now() from held h
          on conflict (agent_identity, row_id, generation) do nothing
      returning true)
    select a.n, s.id, s.agent_identity from (select count(*) as n from added) a
      left join (select o.id, o.agent_identity
                   from seen o order by o.id desc, o.agent_identity desc limit 1) s on true$q$,
    rows_of, wanted, of_kind || '_vectors_g' || of_generation)
    into queued, last, last_theme using of_generation, after, most, of_kind, after_theme;
end $$;

-- How things stand with each generation: numbers alone, over all themes. `embeddable` are the rows that are to have a
-- vector, `embedded` those that have one.
create function hermes_memory.generation_standing()
returns table (generation int, model text, dimension int, part_tokens int, active boolean, fed boolean,
               measured boolean, embeddable bigint, embedded bigint, waiting bigint, parked bigint, bytes bigint,
               activated_at timestamptz)
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
begin
  embeddable := (select count(*) from hermes_memory.memory_entries)
              + (select count(*) from hermes_memory.conversations c where c.embed);
  for generation, model, dimension, part_tokens, active, fed, measured, activated_at in
    select m.generation, m.model, m.dimension, m.part_tokens, m.generation is not distinct from i.active_generation,
           m.fed, m.unrelated_cosine is not null, m.activated_at
      from hermes_memory.embedding_models m cross join hermes_memory.installation i order by m.generation
  loop
    select b.waiting, b.parked into waiting, parked from hermes_memory.embedding_backlog(generation) b;
    execute format('select (select count(*) from hermes_memory.%I where part = 0)
                         + (select count(*) from hermes_memory.%I where part = 0)',
                   'entry_vectors_g' || generation, 'turn_vectors_g' || generation) into embedded;
    select coalesce(sum(pg_total_relation_size(t.relid)), 0) into bytes
      from unnest(array['entry_vectors_g', 'turn_vectors_g']) as k(kind)
     cross join lateral pg_partition_tree(('hermes_memory.' || k.kind || generation)::regclass) t;
    return next;
  end loop;
end $$;

-- Lets recall use a generation that is filled, indexed and measured from now on, or one that it used before, and
-- returns the one until now. Nothing but two rows of settings are written, so nobody waits for it.
create function hermes_memory.switch_generation(wanted int) returns int language plpgsql
set search_path = pg_catalog, pg_temp as $$
declare
  former int := (select i.active_generation from hermes_memory.installation i for update);
begin
  if not exists (select from hermes_memory.embedding_models m where m.generation = wanted and m.fed) then
    raise exception 'there is no embedding generation % to be used', wanted using errcode = 'no_data_found';
  end if;
  if not exists (select from hermes_memory.embedding_models m
                  where m.generation = wanted and (m.unrelated_cosine is not null or m.activated_at is not null)) then
    raise exception 'the embedding generation % is not measured yet', wanted using errcode = 'no_data_found';
  end if;
  if (select count(*) from pg_index x
       where x.indexrelid in (to_regclass('hermes_memory.entry_vectors_g' || wanted || '_near'),
                              to_regclass('hermes_memory.turn_vectors_g' || wanted || '_near'))
         and x.indisvalid) < 2 then
    raise exception 'the embedding generation % has no index yet', wanted using errcode = 'no_data_found';
  end if;
  update hermes_memory.embedding_models m set activated_at = clock_timestamp() where m.generation = wanted;
  update hermes_memory.installation i set active_generation = wanted;
  return former;
end $$;

-- Removes a generation that is not in use, with its vectors. Whoever reads the registry in a transaction goes on to the
-- tables that it names: so the registry is locked, for as long as it takes to unlink some files.
create function hermes_memory.drop_generation(unwanted int) returns void language plpgsql
set search_path = pg_catalog, pg_temp as $$
begin
  if (select i.active_generation = unwanted from hermes_memory.installation i for update) then
    raise exception 'the embedding generation % is in use', unwanted using errcode = 'object_in_use';
  end if;
  lock table hermes_memory.embedding_models in access exclusive mode;
  if not exists (select from hermes_memory.embedding_models m where m.generation = unwanted) then
    raise exception 'there is no embedding generation %', unwanted using errcode = 'no_data_found';
  end if;
  delete from hermes_memory.embedding_jobs j where j.generation = unwanted;
  execute format('drop table hermes_memory.%I, hermes_memory.%I',
                 'entry_vectors_g' || unwanted, 'turn_vectors_g' || unwanted);
  delete from hermes_memory.embedding_models m where m.generation = unwanted;
end $$;

-- Removes the only generation if it is of another model than the wanted one and nothing is lost by that: it holds no
-- vector, and none is under way, since no row waits for one or its model never answered. Returns its number, null when
-- nothing was removed. So settings that are mistaken at the first start are corrected like any others.
create function hermes_memory.withdraw_unused_generation(model text, dimension int) returns int language plpgsql
set search_path = pg_catalog, pg_temp set lock_timeout = 1000 as $$
declare
  unused int := (select m.generation
                   from hermes_memory.installation i
                   join hermes_memory.embedding_models m on m.generation = i.active_generation
                  where (m.model, m.dimension) <> (withdraw_unused_generation.model,
                                                   withdraw_unused_generation.dimension)
                    and not exists (select from hermes_memory.embedding_models o where o.generation <> m.generation)
                    and (m.unrelated_cosine is null
                         or not exists (select from hermes_memory.embedding_jobs j
                                         where j.generation = m.generation and j.parked_reason is null)));
  used boolean;
begin
  if unused is null then
    return null;
  end if;
  -- After the jobs: one that ends between the two looks leaves its vector.
  execute format('select exists (select from hermes_memory.%I) or exists (select from hermes_memory.%I)',
                 'entry_vectors_g' || unused, 'turn_vectors_g' || unused) into used;
  if used then
    return null;
  end if;
  update hermes_memory.installation i set active_generation = null;
  perform hermes_memory.drop_generation(unused);
  return unused;
end $$;
