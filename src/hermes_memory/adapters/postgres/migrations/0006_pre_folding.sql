-- Folding the text index: writers append a small block per word and batch, and here many small blocks of a word become
-- few, best first. It goes on in the background, in steps of bounded work, each of them one transaction: whoever reads
-- sees the blocks from before it or those from after it, and a step that breaks off never happened.
--
-- The statistics block of a place (theme, shelf, subject) keeps the books. packed = {sum of lengths, rows that came or
-- went since the place was folded last, rows there were when it was last put in order as a whole}. A block that a
-- writer appends has the first number alone, and its rows count as not folded.

-- Where folding is. It outlives whoever folds, and the next one goes on from here.
create table hermes_memory.folding (
  only_row boolean primary key default true check (only_row),
  theme text collate "C",
  shelf text collate "C",
  subject bytea,
  whole boolean not null default false,
  next_lexeme text collate "C" not null default '',
  rested_at timestamptz not null default '-infinity'
);
insert into hermes_memory.folding default values;
alter table hermes_memory.folding enable row level security;

-- What a posting can add to a score, which is its place in the order: exactly the number that writers compute
-- (impact in hermes_memory.domain.postings), since a posting that is taken out is looked for by it.
create function hermes_memory.posting_impact(posting bigint) returns real language sql immutable parallel safe
return (((posting >> 12) & 15) * 1.9::float8
        / (((posting >> 12) & 15) + .54::float8 + .012::float8 * (posting & 4095)))::real;

-- Makes one statistics block of all those of a place. `swept`: its words have just been folded; `whole`: and put in
-- order.
create function hermes_memory.fold_statistics(place hermes_memory.folding, swept boolean, whole boolean) returns void
language sql set search_path = pg_catalog, pg_temp as $$
  with gone as (
    delete from hermes_memory.term_blocks b
     where b.agent_identity = place.theme and b.shelf = place.shelf and b.subject = place.subject and b.lexeme = ''
    returning b.n, b.packed),
  total as (
    select sum(g.n)::int as n, sum(g.packed[1])::bigint as lengths,
           sum(coalesce(g.packed[2], abs(g.n)))::bigint as unfolded, sum(coalesce(g.packed[3], 0))::bigint as ordered
      from gone g)
  insert into hermes_memory.term_blocks (agent_identity, shelf, subject, lexeme, hi, n, packed)
  select place.theme, place.shelf, place.subject, '', 0, t.n,
         array[t.lengths, case when swept then 0 else t.unfolded end, case when whole then t.n else t.ordered end]
    from total t where t.n <> 0
$$;

-- Looks for the place that needs it most, and begins there: with its words when there are so many rows, and so many of
-- them not folded, that reading fewer blocks is worth the work; else with its statistics alone. Tells what there is to
-- do, as fold_term_blocks does. What is looked through is the index of the statistics blocks, nothing else.
create function hermes_memory.begin_folding() returns text language plpgsql
set search_path = pg_catalog, pg_temp as $$
declare
  place hermes_memory.folding;
  documents bigint;
  unfolded bigint;
  ordered bigint;
begin
  select b.agent_identity, b.shelf, b.subject into place.theme, place.shelf, place.subject
    from hermes_memory.term_blocks b where b.lexeme = '' group by b.agent_identity, b.shelf, b.subject
  having count(*) >= 64 or (count(*) > 1 and sum(abs(b.n)) - max(b.n) >= 2000)
   order by count(*) desc limit 1;
  if place.theme is null then
    return 'idle';
  end if;
  select sum(b.n), sum(coalesce(b.packed[2], abs(b.n))), sum(coalesce(b.packed[3], 0))
    into documents, unfolded, ordered
    from hermes_memory.term_blocks b
   where b.agent_identity = place.theme and b.shelf = place.shelf and b.subject = place.subject and b.lexeme = '';
  if documents >= 2000 and unfolded >= least(greatest(1000, documents / 16), 4000) then
    update hermes_memory.folding f
       set theme = place.theme, shelf = place.shelf, subject = place.subject, next_lexeme = chr(1),
           whole = documents >= ordered * 1.5;
  elsif pg_try_advisory_xact_lock(hashtextextended(place.theme, 7)) then
    perform hermes_memory.fold_statistics(place, false, false);
  else
    return 'busy';
  end if;
  return 'more';
end $$;

-- Folds words of the place in hand, from the one that is next: reads up to `most` blocks in the index and rewrites up
-- to about `most` postings. Words with four small blocks have these merged; when the place is put in order as a whole,
-- all blocks of a word are. A posting whose document is gone is left out.
create function hermes_memory.fold_words(place hermes_memory.folding, most int,
                                         out gone int, out made int, out ahead text)
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  words text[];
  entire text[];
  up_to real;
begin
  with seen as materialized (
    select b.lexeme, b.hi, b.n from hermes_memory.term_blocks b
     where b.agent_identity = place.theme and b.shelf = place.shelf and b.subject = place.subject
       and b.lexeme >= place.next_lexeme
     order by b.lexeme, b.hi, b.id limit most),
  -- When the limit cuts a word off, the word waits for its turn; when it is the only one, a part of it is merged.
  counted as (
    select s.lexeme, count(*) filter (where s.n < 120) as small, sum(s.n) as postings,
           coalesce(sum(s.n) filter (where s.n < 120), 0) as small_postings, count(*) as blocks, max(s.hi) as highest,
           s.lexeme = (select max(e.lexeme) from seen e) and (select count(*) from seen) = most as cut
      from seen s group by s.lexeme),
  planned as (
    select c.*, place.whole and not c.cut and c.blocks > 1 and (c.small > 1 or c.blocks > 2)
                and c.postings <= 10 * most as entirely
      from counted c),
  weighed as (
    select p.*, case when p.entirely then p.postings when p.small >= 4 then p.small_postings else 0 end as rewritten
      from planned p),
  chosen as (
    select w.*, (not w.cut or count(*) over () = 1)
                and (sum(w.rewritten) over up_to_here <= most or sum(w.rewritten) over up_to_here = w.rewritten) as now
      from weighed w window up_to_here as (order by w.lexeme))
  select array_agg(c.lexeme) filter (where c.now and c.rewritten > 0),
         coalesce(array_agg(c.lexeme) filter (where c.now and c.entirely), '{}'),
         min(c.highest) filter (where c.now and c.cut),
         coalesce(min(c.lexeme) filter (where not c.now),
                  max(c.lexeme || case when c.rewritten > 0 then '' else chr(1) end) filter (where c.cut))
    into words, entire, up_to, ahead from chosen c;
  with taken as (
    delete from hermes_memory.term_blocks b
     where b.agent_identity = place.theme and b.shelf = place.shelf and b.subject = place.subject
       and b.lexeme = any (words) and (b.n < 120 or b.lexeme = any (entire)) and (up_to is null or b.hi <= up_to)
    returning b.lexeme, b.packed),
  alive as (
    select t.lexeme, p.posting, hermes_memory.posting_impact(p.posting) as impact
      from taken t cross join lateral unnest(t.packed) as p(posting)
     cross join lateral (
           select from hermes_memory.memory_documents d
            where d.agent_identity = place.theme and d.lex_key = p.posting >> 16 limit 1) d),
  parted as (
    select a.*, (row_number() over (partition by a.lexeme order by a.impact desc, a.posting desc) - 1) / 240 as part
      from alive a),
  merged as (
    insert into hermes_memory.term_blocks (agent_identity, shelf, subject, lexeme, hi, n, packed)
    select place.theme, place.shelf, place.subject, p.lexeme, max(p.impact), count(*),
           array_agg(p.posting order by p.impact desc, p.posting desc)
      from parted p group by p.lexeme, p.part
    returning 1)
  select (select count(*) from taken), (select count(*) from merged) into gone, made;
end $$;

-- One step of folding. `state` tells what there is to do: 'more', 'idle' when nothing needs it (which is then not
-- looked into again for `rest` seconds, whoever asks), or 'busy' when somebody else folds, or takes postings of this
-- theme out. The lock of the theme is the one that is held by whoever takes postings out.
create function hermes_memory.fold_term_blocks(most int, rest double precision,
                                               out state text, out gone int, out made int)
language plpgsql security definer
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_custom_plan as $$
declare
  place hermes_memory.folding;
  ahead text;
begin
  state := 'busy';
  gone := 0;
  made := 0;
  if not pg_try_advisory_xact_lock(hashtextextended('folding', 8)) then
    return;
  end if;
  select f.* into place from hermes_memory.folding f;
  if place.theme is null then
    state := 'idle';
    if place.rested_at <= clock_timestamp() - make_interval(secs => rest) then
      state := hermes_memory.begin_folding();
      if state = 'idle' then
        update hermes_memory.folding f set rested_at = clock_timestamp();
      end if;
    end if;
    return;
  end if;
  if not pg_try_advisory_xact_lock(hashtextextended(place.theme, 7)) then
    return;
  end if;
  state := 'more';
  select w.gone, w.made, w.ahead into gone, made, ahead from hermes_memory.fold_words(place, most) w;
  if ahead is null then
    perform hermes_memory.fold_statistics(place, true, place.whole);
    update hermes_memory.folding f set theme = null, shelf = null, subject = null, whole = false, next_lexeme = '';
  else
    update hermes_memory.folding f set next_lexeme = ahead;
  end if;
end $$;
