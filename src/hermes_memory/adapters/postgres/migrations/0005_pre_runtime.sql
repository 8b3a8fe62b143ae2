-- What the runtime role may do: the least that the library does. Run again by every migration, so that a role named
-- later and tables made later have their grants. Only parents are granted: a partition would be a way around the wall.
create function hermes_memory.admit_runtime(runtime_role text) returns void language plpgsql
set search_path = pg_catalog, pg_temp as $$
declare
  granted record;
  made int;
begin
  execute format('grant usage on schema hermes_memory to %I', runtime_role);
  for granted in select * from (values
      ('installation', 'select'), ('schema_migrations', 'select'), ('embedding_models', 'select'), ('sinks', 'select'),
      ('v_agent_memory', 'select'), ('memory_rows', 'select'), ('memory_documents', 'select'),
      ('memory_agents', 'select, insert, update'),
      ('memory_entries', 'select, insert, update, delete'), ('sessions', 'select, insert, update'),
      ('conversations', 'select, insert, delete'), ('term_blocks', 'select, insert, delete'),
      ('embedding_jobs', 'select, insert, delete'), ('inbox', 'select, insert'),
      ('memory_agent_edges', 'select, insert'), ('history', 'select, insert')) as t(relation, rights) loop
    execute format('grant %s on hermes_memory.%I to %I', granted.rights, granted.relation, runtime_role);
  end loop;
  for made in select m.generation from hermes_memory.embedding_models m loop
    execute format('grant select, delete on hermes_memory.%I, hermes_memory.%I to %I',
                   'entry_vectors_g' || made, 'turn_vectors_g' || made, runtime_role);
  end loop;
  execute format('grant usage on sequence hermes_memory.lex_numbers to %I', runtime_role);
  revoke execute on all functions in schema hermes_memory from public;
  execute format(
    'grant execute on function hermes_memory.ctx_theme(), hermes_memory.ctx_subject(), hermes_memory.ctx_subjects(),
       hermes_memory.ctx_themes(),
       hermes_memory.term_frequency(tsvector, tsquery), hermes_memory.term_query(text),
       hermes_memory.forget_vectors(text, uuid[]),
       hermes_memory.claim_embedding_jobs(int, double precision, int, int),
       hermes_memory.fold_term_blocks(int, double precision),
       hermes_memory.store_vectors(int, text[], uuid[], text[], bytea[], bytea[], int[], int, real[]),
       hermes_memory.hold_embedding_jobs(int, text[], uuid[], bytea[], double precision),
       hermes_memory.end_embedding_jobs(int, text[], uuid[], bytea[]),
       hermes_memory.postpone_embedding_jobs(int, text[], uuid[], bytea[], double precision),
       hermes_memory.park_embedding_job(int, text, uuid, bytea, text), hermes_memory.embedding_backlog(int),
       hermes_memory.generation_standing(),
       hermes_memory.calibrate_generation(int, double precision, double precision), hermes_memory.store_counts(),
       hermes_memory.private_copies(text, text[], bytea[]),
       hermes_memory.microseconds(timestamptz), hermes_memory.telling_columns(),
       hermes_memory.change_form(text, bytea, uuid, uuid, uuid, text, text, text, text, text, text, text, text,
                                 timestamptz, timestamptz, timestamptz, jsonb, uuid),
       hermes_memory.turn_hash(text, bytea, uuid, text, text, text, bytea, int, text, boolean, jsonb, timestamptz,
                               timestamptz, uuid),
       hermes_memory.tally_of(bytea),
       hermes_memory.seal_history(int), hermes_memory.seal_heads(text[], bigint[]), hermes_memory.seal_lag(),
       hermes_memory.expire_forgotten(int) to %I', runtime_role);
end $$;
