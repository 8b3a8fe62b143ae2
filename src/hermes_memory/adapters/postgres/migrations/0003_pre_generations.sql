-- Embedding generations: vectors live in tables of their own, one per kind and generation, so that a new model is
-- filled beside the old one and switched to, or back, by one row.

create function hermes_memory.make_vector_table(vectors text, dimension int, extra_column text) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  execute format(
    $t$create table hermes_memory.%I (
      agent_identity text collate "C" not null check (agent_identity <> ''),
      row_id uuid not null,
      part smallint not null default 0 check (part >= 0),
      subject bytea not null default '' check (octet_length(subject) in (0, 32)),
      %s
      embedding public.halfvec(%s) not null,
      primary key (row_id, agent_identity, part),
      constraint sink_rows_have_a_subject
        check (octet_length(subject) = 32 or agent_identity not in ('whatsapp-dm', 'external-group', '_bench'))
    ) partition by hash (agent_identity)$t$, vectors, extra_column, dimension);
  execute format('create index on hermes_memory.%I (subject, agent_identity)', vectors);
  perform hermes_memory.make_partitions(vectors);
  perform hermes_memory.raise_wall(vectors);
  perform hermes_memory.silence_statistics(vectors);
end $$;

-- Makes the tables of a generation and returns its number, or that of the one that is there already. From its commit on
-- every row that is stored waits for a vector of it, also where dropping it had begun; those stored before are to be
-- queued.
create function hermes_memory.register_generation(model text, dimension int, part_tokens int) returns int
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  made int;
  feeding boolean;
  grantee name;
begin
  perform from hermes_memory.installation i for update;
  select m.generation, m.fed into made, feeding from hermes_memory.embedding_models m
   where m.model = register_generation.model and m.dimension = register_generation.dimension
     and m.part_tokens is not distinct from register_generation.part_tokens;
  if found then
    if not feeding then
      lock table hermes_memory.memory_entries, hermes_memory.conversations in share mode;
      update hermes_memory.embedding_models m set fed = true where m.generation = made;
    end if;
    return made;
  end if;
  update hermes_memory.installation i set generations_made = i.generations_made + 1
    returning i.generations_made into made;
  perform hermes_memory.make_vector_table('entry_vectors_g' || made, register_generation.dimension,
                                          'target text collate "C" not null check (target in (''memory'', ''user'')),');
  perform hermes_memory.make_vector_table('turn_vectors_g' || made, register_generation.dimension, '');
  -- Who may add jobs removes vectors as well.
  for grantee in
    select distinct r.rolname
      from pg_class c cross join lateral aclexplode(c.relacl) a join pg_roles r on r.oid = a.grantee
     where c.oid = 'hermes_memory.embedding_jobs'::regclass and a.privilege_type = 'INSERT' and a.grantee <> c.relowner
  loop
    execute format('grant select, delete on hermes_memory.%I, hermes_memory.%I to %I',
                   'entry_vectors_g' || made, 'turn_vectors_g' || made, grantee);
  end loop;
  -- The last step, since writers wait for it. Whoever stores a row after this sees the generation; whoever stored one
  -- before has committed it.
  lock table hermes_memory.memory_entries, hermes_memory.conversations in share mode;
  insert into hermes_memory.embedding_models (generation, model, dimension, part_tokens)
  values (made, register_generation.model, register_generation.dimension, register_generation.part_tokens);
  return made;
end $$;

-- Makes a generation and lets every row stored so far wait for a vector of it, in one transaction. The first one is
-- used at once.
create function hermes_memory.make_generation(model text, dimension int) returns int language plpgsql
set search_path = pg_catalog, pg_temp as $$
declare
  made int := hermes_memory.register_generation(make_generation.model, make_generation.dimension, null);
begin
  insert into hermes_memory.embedding_jobs (agent_identity, row_id, generation, subject, kind, content_hash, not_before)
  select e.agent_identity, e.id, made, e.subject, 'entry', e.content_hash, now() from hermes_memory.memory_entries e
  union all
  select c.agent_identity, c.id, made, c.subject, 'turn', c.content_hash, now()
    from hermes_memory.conversations c where c.embed;
  if (select i.active_generation is null from hermes_memory.installation i) then
    perform hermes_memory.activate_generation(made);
  end if;
  return made;
end $$;

-- Lets recall use a generation from now on. Its index is made here if there is none, after it was filled, which is much
-- cheaper; nothing is stored in it meanwhile. An agent that works is better served by switch_generation.
create function hermes_memory.activate_generation(wanted int) returns void language plpgsql
set search_path = pg_catalog, pg_temp as $$
declare
  vectors text;
begin
  foreach vectors in array array['entry_vectors_g' || wanted, 'turn_vectors_g' || wanted] loop
    execute format('create index if not exists %I on hermes_memory.%I using hnsw (embedding public.halfvec_cosine_ops)',
                   vectors || '_near', vectors);
  end loop;
  update hermes_memory.embedding_models m set activated_at = clock_timestamp() where m.generation = wanted;
  update hermes_memory.installation i set active_generation = m.generation
    from hermes_memory.embedding_models m where m.generation = wanted;
  if not found then
    raise exception 'there is no embedding generation %', wanted using errcode = 'no_data_found';
  end if;
end $$;

-- Removes the vectors of rows of the caller's theme, in all generations. It runs as the caller: the wall holds.
create function hermes_memory.forget_vectors(theme text, ids uuid[]) returns void language plpgsql
set search_path = pg_catalog, pg_temp as $$
declare
  made int;
begin
  for made in select m.generation from hermes_memory.embedding_models m loop
    execute format('delete from hermes_memory.%I where agent_identity = $1 and row_id = any($2)',
                   'entry_vectors_g' || made) using theme, ids;
    execute format('delete from hermes_memory.%I where agent_identity = $1 and row_id = any($2)',
                   'turn_vectors_g' || made) using theme, ids;
  end loop;
end $$;

-- To be called before turns of a theme are erased, in the same transaction: removes their vectors and jobs, and the
-- vectors of the turns right after them, which hold words of theirs. Those wait for new ones. The turns to be erased
-- are locked first, and whoever stores a vector locks the turn before as well: no vector with words of an erased turn
-- is stored meanwhile or afterwards.
create function hermes_memory.forget_turn_vectors(theme text, ids uuid[]) returns void language plpgsql
set search_path = pg_catalog, pg_temp as $$
declare
  followers uuid[];
begin
  perform from hermes_memory.conversations c
    where c.agent_identity = theme and c.id = any (ids) order by c.id for update;
  select coalesce(array_agg(f.id), '{}') into followers
    from hermes_memory.conversations c
    join hermes_memory.conversations f
      on f.agent_identity = c.agent_identity and f.subject = c.subject and f.session_id = c.session_id
     and f.position = c.position + 1
   where c.agent_identity = theme and c.id = any (ids) and f.embed and f.id <> all (ids);
  perform hermes_memory.forget_vectors(theme, ids || followers);
  delete from hermes_memory.embedding_jobs j where j.agent_identity = theme and j.row_id = any (ids || followers);
  insert into hermes_memory.embedding_jobs (agent_identity, row_id, generation, subject, kind, content_hash, not_before)
  select c.agent_identity, c.id, m.generation, c.subject, 'turn', c.content_hash, now()
    from hermes_memory.conversations c cross join hermes_memory.embedding_models m
   where c.agent_identity = theme and c.id = any (followers) and m.fed;
end $$;
