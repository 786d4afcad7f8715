import { globSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import t from 'tap'

const root = resolve(import.meta.dirname, '..', '..')

/** What only one engine understands, or what goes around the port of the store. */
const FORBIDDEN: readonly [what: string, pattern: RegExp][] = [
  ['a driver of one engine', /'better-sqlite3'|from 'pg'|\bSqlite(Dialect|Driver|Adapter)\b/],
  ['a pragma', /\bpragma\b/i],
  ['a table or an error code of SQLite', /sqlite_master|\bSQLITE_|data_?version/i],
  ['a function of SQLite', /json_each|json_extract|group_concat|\bifnull\(|last_insert_rowid/i],
  ['a hint for one planner', /sql`\+/],
  ['an operator that PostgreSQL has for null alone', /sql(<[^`]*>)?`[^`]*\bis (not )?\$\{/],
  ['a null-safe operator of SQLite', /'is( not)?', (?!null\b)/],
  ['text with places of one engine', /CompiledQuery\.raw/],
  ['a count or sum that PostgreSQL widens to text', /fn\s*\.(countAll|count|sum)\b/],
  ['a copy of a database in place of a hook', /\{\s*\.\.\.(\w+\.)?(ledger|records)\b/],
]

const ENGINES = ['coordinator/kernel/store/sqlite/', 'coordinator/kernel/store/postgres/']
/** File in which the engine is chosen. */
const CHOICE = 'coordinator/kernel/store/store.ts'

const sources = globSync('coordinator/**/*.ts', { cwd: root })
  .filter(path => !ENGINES.some(folder => path.startsWith(folder)))
  .map(path => ({ path, text: readFileSync(join(root, path), 'utf8') }))

t.test('code above the store engine depends on no particular engine', async t => {
  const found = sources.flatMap(({ path, text }) =>
    FORBIDDEN.filter(([, pattern]) => pattern.test(text)).map(([what]) => `${path}: ${what}`),
  )
  t.strictSame(found, [])
})

t.test('one file selects the engine', async t => {
  const importers = sources.filter(({ text }) =>
    /^(?!import type).*(from |import\()'[^']*\/(sqlite|postgres)\//m.test(text),
  )
  t.strictSame(
    importers.map(({ path }) => path),
    [CHOICE],
  )
})
