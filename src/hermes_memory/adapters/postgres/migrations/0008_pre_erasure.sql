-- Erasing rows with all that was made of them. For the owner alone, but for telling_columns.

-- Columns whose statistics would tell what was said, or where: all that hold neither numbers nor one of a few words of
-- ours. ANALYZE copies values of a column into its statistics, where they outlive their rows: of a table that is empty
-- it takes no new ones. Themes are named on record also when they are erased. Subjects are keyed hashes, and a planner
-- who did not know how many rows are nobody's would sort all of them where a few are wanted. An index on an expression
-- has statistics of its own; a plain column of an index has none.
create function hermes_memory.telling_columns() returns table (relation oid, name name, silent boolean)
language sql stable set search_path = pg_catalog, pg_temp as $$
  select c.oid, a.attname, coalesce(a.attstattarget, -1) = 0
    from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    left join pg_index i on i.indexrelid = c.oid
   where c.relnamespace = 'hermes_memory'::regnamespace
     and (c.relkind in ('r', 'p') or (c.relkind in ('i', 'I') and i.indkey[a.attnum - 1] = 0))
     and a.atttypid <> all (array['bool', 'int2', 'int4', 'int8', 'float4', 'float8', 'uuid', 'timestamptz']::regtype[])
     and (c.relkind in ('i', 'I')
          or a.attname <> all (array['agent_identity', 'subject', 'target', 'shelf', 'kind', 'role', 'change']))
$$;

-- Lets ANALYZE take nothing from the columns of a table that would tell, and of its partitions.
create function hermes_memory.silence_statistics(of_table text) returns void language plpgsql
set search_path = pg_catalog, pg_temp as $$
declare
  acts text := (select string_agg(format('alter column %I set statistics 0', t.name), ', ')
                  from hermes_memory.telling_columns() t
                 where t.relation = format('hermes_memory.%I', of_table)::regclass and not t.silent);
begin
  if acts is not null then
    execute format('alter table hermes_memory.%I %s', of_table, acts);
  end if;
end $$;
select hermes_memory.silence_statistics(c.relname) from pg_class c
 where c.relnamespace = 'hermes_memory'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition;

-- Takes the postings of rows of one theme out of the text index, in one pass through the blocks of their words, and
-- counts the rows out of the statistics. Returns the number of postings. A block keeps its best impact, which stays an
-- upper bound. The transaction holds the theme's lock (see the scrubbing of single entries).
--
-- A posting tells its row by its key, so each block is looked at by itself: to join blocks, or their postings, with
-- what is wanted means to sort all of a theme. The keys are a constant to the planner, who then looks them up in a hash
-- table.
create function hermes_memory.scrub_rows(theme text, ids uuid[]) returns bigint
language plpgsql set search_path = pg_catalog, pg_temp set plan_cache_mode = force_custom_plan as $$
declare
  place record;
  words text[];
  taken bigint;
  total bigint := 0;
begin
  for place in
    select d.shelf, d.subject, array_agg(d.id) as ids, array_agg(d.lex_key) as keys, count(*)::int as documents,
           sum(least(d.lex_length, 4095)) as lengths
      from hermes_memory.memory_documents d
     where d.agent_identity = theme and d.id = any (scrub_rows.ids) group by d.shelf, d.subject
  loop
    words := hermes_memory.words_of(theme, place.shelf, place.ids);
    with gone as (
      delete from hermes_memory.term_blocks b
       where b.agent_identity = theme and b.shelf = place.shelf and b.subject = place.subject and b.lexeme = any (words)
         and exists (select from unnest(b.packed) as p(posting) where p.posting >> 16 = any (place.keys))
      returning b.lexeme, b.hi, b.n, b.packed),
    parted as materialized (
      select g.lexeme, g.hi, g.n,
             array(select p.posting from unnest(g.packed) as p(posting)
                    where p.posting >> 16 <> all (place.keys)) as rest
        from gone g),
    kept as (
      insert into hermes_memory.term_blocks (agent_identity, shelf, subject, lexeme, hi, n, packed)
      select theme, place.shelf, place.subject, p.lexeme, p.hi, cardinality(p.rest), p.rest
        from parted p where p.rest <> '{}'
      union all
      select theme, place.shelf, place.subject, '', 0, -place.documents, array[-place.lengths::bigint])
    select coalesce(sum(p.n - cardinality(p.rest)), 0) into taken from parted p;
    total := total + taken;
  end loop;
  return total;
end $$;

-- The words of rows of one shelf.
create function hermes_memory.words_of(theme text, of_shelf text, ids uuid[]) returns text[]
language sql stable set search_path = pg_catalog, pg_temp as $$
  select coalesce(array_agg(distinct u.lexeme), '{}')
    from hermes_memory.memory_documents d cross join lateral unnest(d.lex) as u
   where d.agent_identity = theme and d.shelf = of_shelf and d.id = any (words_of.ids)
$$;

-- How many postings scrub_rows would take. Changes nothing.
create function hermes_memory.count_postings(theme text, ids uuid[]) returns bigint
language plpgsql stable set search_path = pg_catalog, pg_temp set plan_cache_mode = force_custom_plan as $$
declare
  place record;
  words text[];
  found bigint;
  total bigint := 0;
begin
  for place in
    select d.shelf, d.subject, array_agg(d.id) as ids, array_agg(d.lex_key) as keys
      from hermes_memory.memory_documents d
     where d.agent_identity = theme and d.id = any (count_postings.ids) group by d.shelf, d.subject
  loop
    words := hermes_memory.words_of(theme, place.shelf, place.ids);
    select coalesce(sum((select count(*) from unnest(b.packed) as p(posting)
                          where p.posting >> 16 = any (place.keys))), 0)
      into found from hermes_memory.term_blocks b
     where b.agent_identity = theme and b.shelf = place.shelf and b.subject = place.subject and b.lexeme = any (words);
    total := total + found;
  end loop;
  return total;
end $$;

-- Locks the sessions that turns were said in, in the order that is the same for everybody.
create function hermes_memory.hold_sessions_of(theme text, ids uuid[]) returns void
language sql set search_path = pg_catalog, pg_temp as $$
  select from hermes_memory.sessions s
   where s.agent_identity = theme and exists (
         select from hermes_memory.conversations c
          where c.agent_identity = theme and c.id = any (ids)
            and c.subject = s.subject and c.session_id = s.session_id)
   order by s.subject, s.session_id for update
$$;

-- Erases rows of one theme, entries and turns alike, with their vectors of every generation and their jobs, and tells
-- how many of each there were. `scrub`: with their postings, one by one, and with what is known of the operations that
-- made them; else whoever calls removes both wholesale.
--
-- The rows are locked before their vectors go, and whoever stores a vector locks its row, and for a turn the one before
-- it: no vector with words of an erased row is stored meanwhile or afterwards. Vectors of turns that follow and stay
-- are not looked at here: what is erased is whole sessions from their ends on, or entries, which have no followers.
create function hermes_memory.erase_rows(theme text, ids uuid[], scrub boolean,
  out entries bigint, out turns bigint, out vectors bigint, out jobs bigint, out operations bigint, out postings bigint)
language plpgsql set search_path = pg_catalog, pg_temp set plan_cache_mode = force_custom_plan as $$
declare
  made int;
  gone bigint;
  made_by uuid[];
begin
  vectors := 0;
  operations := 0;
  postings := 0;
  if scrub then
    perform pg_advisory_xact_lock(hashtextextended(theme, 7));
  else
    -- Who forgets a turn locks its session first; that waits for the theme where this does.
    perform hermes_memory.hold_sessions_of(theme, ids);
  end if;
  perform from hermes_memory.memory_entries e
    where e.agent_identity = theme and e.id = any (ids) order by e.id for update;
  perform from hermes_memory.conversations c
    where c.agent_identity = theme and c.id = any (ids) order by c.id for update;
  if scrub then
    postings := hermes_memory.scrub_rows(theme, ids);
    made_by := array(
      select e.operation from hermes_memory.memory_entries e where e.agent_identity = theme and e.id = any (ids)
      union
      select c.operation from hermes_memory.conversations c where c.agent_identity = theme and c.id = any (ids));
    delete from hermes_memory.inbox i where i.agent_identity = theme and i.operation = any (made_by);
    get diagnostics operations = row_count;
  end if;
  for made in select m.generation from hermes_memory.embedding_models m loop
    execute format('delete from hermes_memory.%I where agent_identity = $1 and row_id = any ($2)',
                   'entry_vectors_g' || made) using theme, ids;
    get diagnostics gone = row_count;
    vectors := vectors + gone;
    execute format('delete from hermes_memory.%I where agent_identity = $1 and row_id = any ($2)',
                   'turn_vectors_g' || made) using theme, ids;
    get diagnostics gone = row_count;
    vectors := vectors + gone;
  end loop;
  delete from hermes_memory.embedding_jobs j where j.agent_identity = theme and j.row_id = any (ids);
  get diagnostics jobs = row_count;
  delete from hermes_memory.memory_entries e where e.agent_identity = theme and e.id = any (ids);
  get diagnostics entries = row_count;
  perform hermes_memory.hold_sessions_of(theme, ids);
  with gone as (
    delete from hermes_memory.conversations c where c.agent_identity = theme and c.id = any (ids)
    returning c.subject, c.session_id, c.row_hash),
  told as (
    select g.subject, g.session_id, count(*) as n, bit_xor(hermes_memory.tally_of(g.row_hash)) as tally
      from gone g group by g.subject, g.session_id),
  kept as (
    update hermes_memory.sessions s set tally = s.tally # t.tally from told t
     where s.agent_identity = theme and s.subject = t.subject and s.session_id = t.session_id)
  select coalesce(sum(t.n), 0) into turns from told t;
end $$;

-- How many vectors, of all generations, there are of rows, or of subjects, or of a theme: of whatever is not null.
create function hermes_memory.count_vectors(of_theme text, of_subjects bytea[], of_rows uuid[]) returns bigint
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
  vectors text;
  found bigint;
  total bigint := 0;
begin
  for vectors in
    select k.kind || m.generation from hermes_memory.embedding_models m
     cross join unnest(array['entry_vectors_g', 'turn_vectors_g']) as k(kind)
  loop
    execute format('select count(*) from hermes_memory.%I v where ($1 is null or v.agent_identity = $1)
                      and ($2 is null or v.subject = any ($2)) and ($3 is null or v.row_id = any ($3))', vectors)
      into found using of_theme, of_subjects, of_rows;
    total := total + found;
  end loop;
  return total;
end $$;

-- Erases vectors whose rows are gone already, of subjects or of a theme; returns how many.
create function hermes_memory.erase_orphaned_vectors(of_theme text, of_subjects bytea[]) returns bigint
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  vectors text;
  gone bigint;
  total bigint := 0;
begin
  for vectors in
    select k.kind || m.generation from hermes_memory.embedding_models m
     cross join unnest(array['entry_vectors_g', 'turn_vectors_g']) as k(kind)
  loop
    execute format('delete from hermes_memory.%I v where ($1 is null or v.agent_identity = $1)
                      and ($2 is null or v.subject = any ($2))
                      and not exists (select from hermes_memory.memory_rows r
                                       where r.agent_identity = v.agent_identity and r.id = v.row_id)', vectors)
      using of_theme, of_subjects;
    get diagnostics gone = row_count;
    total := total + gone;
  end loop;
  return total;
end $$;
