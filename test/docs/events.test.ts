import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { EVENT_TOPICS, topicOf } from '../../coordinator/kernel/events/topics.ts'
import { CAPABILITIES, CAPABILITY } from '../../shared/wire/capability.ts'

/* docs/events.md names every family of events, and every one that is published is in one. */

const PUBLISHED = /(?:publish\(|\btype:)\s*['`](shoal\.[\w.-]*)/g
const root = join(import.meta.dirname, '..', '..')
const page = readFileSync(join(root, 'docs', 'events.md'), 'utf8')
const protocol = readFileSync(join(root, 'docs', 'protocol.md'), 'utf8')

t.test('docs/events.md lists every event family with its definition', async t => {
  const rows = page.split('\n').filter(line => line.startsWith('| `shoal.'))
  t.strictSame(
    rows,
    EVENT_TOPICS.map(
      ({ prefix, audience, scope, says }) =>
        `| \`${prefix}*\` | ${audience} | ${scope} | ${says} |`,
    ),
  )
})

t.test('every published event belongs to a family', async t => {
  const sources = globSync('coordinator/**/*.ts', { cwd: root })
  const types = sources.flatMap(file =>
    [...readFileSync(join(root, file), 'utf8').matchAll(PUBLISHED)].map(([, type = '']) => type),
  )
  t.ok(types.length > 10)
  t.strictSame(
    types.filter(type => topicOf(type) === undefined),
    [],
  )
})

t.test('docs/protocol.md lists each capability level with its date, in order', async t => {
  const [, history = ''] = protocol.split('## History')
  const rows = history.split('\n').filter(line => /^\| \d/.test(line))
  t.strictSame(
    rows,
    CAPABILITIES.map(({ level, since, adds }) => `| ${level} | ${since} | ${adds} |`),
  )
  t.strictSame(
    CAPABILITIES.map(({ level }) => level),
    Array.from({ length: CAPABILITY }, (_, index) => index + 1),
  )
})
