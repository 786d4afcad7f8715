import t from 'tap'
import * as z from 'zod'
import type { Operation } from '../../coordinator/kernel/declaration/operation.ts'
import { operations } from '../../coordinator/surfaces/catalogue/operations.ts'
import { skills } from '../../coordinator/surfaces/catalogue/skills.ts'

const all = [...operations, ...skills]

interface Schema {
  type?: unknown
  enum?: unknown[]
  const?: unknown
  anyOf?: Schema[]
  properties?: Record<string, Schema>
}

const schemaOf = ({ output }: Operation): Schema =>
  z.toJSONSchema(output, { io: 'input', reused: 'inline', unrepresentable: 'any' }) as Schema

/** A schema and the alternatives that it has. */
const listAlternatives = (schema: Schema): Schema[] => [
  schema,
  ...(schema.anyOf ?? []).flatMap(listAlternatives),
]

const listMembers = (schema: Schema): [string, Schema][] =>
  listAlternatives(schema).flatMap(({ properties }) => Object.entries(properties ?? {}))

const findField = (schema: Schema, path: string): Schema | undefined =>
  path
    .split('.')
    .reduce<Schema | undefined>(
      (at, name) => at && listMembers(at).find(([member]) => member === name)?.[1],
      schema,
    )

/** Names of fields that may say that a call has failed. */
const TELLING = /^(state|status|outcome|result|ok|passed|failed|is_valid|repair)$/

/** Fields that may say so in an answer, and in the objects of an answer; members of lists are facts. */
const listTelling = (operation: Operation): string[] =>
  listMembers(schemaOf(operation)).flatMap(([name, schema]) => [
    ...(TELLING.test(name) ? [name] : []),
    ...listMembers(schema).flatMap(([below]) => (TELLING.test(below) ? [`${name}.${below}`] : [])),
  ])

/** Operations whose answer has such a field and informs, by the reason why it says no failure. */
const INFORMATIONAL: Record<string, string[]> = {
  'it shows a record, whose state is what was asked for': [
    ...['audit-show', 'cells-config-get', 'commands-show', 'discovery-dashboard', 'flows-show'],
    ...['gates-show', 'queue-show', 'sessions-show', 'swarm-show', 'tasks-show', 'webhooks-show'],
  ],
  'it reports on something else, which is well or not': [
    ...['module-whois-lookup-run', 'module-whois-lookup-last', 'whois-lookup', 'printer-status'],
    ...['cockpit-health-check', 'self-diagnose', 'backup-status', 'ops-daily-status'],
    ...['testcenter', 'swarm-analytics'],
  ],
  'it changes a record, and is refused with an error where it cannot': [
    ...['discovery-subscribe', 'flows-cancel', 'queue-cancel', 'queue-discard', 'queue-retry'],
    ...['gates-approve', 'gates-consume', 'gates-reject', 'gates-request', 'gates-withdraw'],
    ...['keys-apply', 'policy-change', 'policy-upgrade', 'tasks-cancel', 'tasks-update'],
    ...['sessions-brief', 'sessions-claim', 'sessions-dock', 'sessions-evidence'],
    ...['sessions-undock', 'sads-dock', 'operator-peer', 'cells-unload', 'cells-unpin'],
    ...['webhooks-create', 'webhooks-delete', 'webhooks-enable', 'webhooks-rotate'],
  ],
  'it starts work that has its own end': ['flows-run', 'synergy-trigger', 'rampup-control'],
}
const informational = Object.values(INFORMATIONAL).flat()

t.test('an answer that can carry a failure comes with the rule that tells it', async t => {
  const undeclared = all
    .filter(({ success }) => success === undefined)
    .map(operation => [operation.id, listTelling(operation)] as const)
    .filter(([id, fields]) => fields.length > 0 && !informational.includes(id))
  t.strictSame(undeclared, [])
  const needless = informational.filter(id => {
    const operation = all.find(each => each.id === id)
    return operation === undefined || operation.success !== undefined
  })
  t.strictSame(needless, [], 'what is listed exists and has no rule')
})

t.test('a rule names a field of the answer and every value that it may have', async t => {
  for (const { id, success, output } of all) {
    if (success === undefined) continue
    const schema = schemaOf({ output } as Operation)
    const field = findField(schema, success.field)
    if (field === undefined) {
      t.fail(`${id} has no field ${success.field}`)
      continue
    }
    const values = listAlternatives(field).flatMap(each =>
      each.const === undefined ? (each.enum ?? []) : [each.const],
    )
    const missing = values.map(String).filter(value => !(value in success.codes))
    t.strictSame('*' in success.codes ? [] : missing, [], id)
    const { operation, input, field: seen } = success.later ?? {}
    if (operation === undefined || input === undefined || seen === undefined) continue
    const later = all.find(each => each.id === operation)
    t.equal(later?.effect, 'read', `${id}: ${operation} reads`)
    t.ok(later && findField(schemaOf(later), seen), `${id}: ${operation} has ${seen}`)
    for (const path of Object.values(input)) t.ok(findField(schema, path), `${id} has ${path}`)
    t.strictSame(Object.keys(input), Object.keys(later?.input.shape ?? {}), id)
  }
})
