import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pino } from 'pino'
import t from 'tap'
import { parse, stringify } from 'yaml'
import { loadShippedGates } from '../../../../coordinator/access/gates/definition.ts'
import { readConfiguredPolicy } from '../../../../coordinator/access/gates/policies.ts'
import { policyOf } from '../../../../coordinator/access/gates/policy.ts'
import {
  addMissingRules,
  isEarlierPolicy,
  listMissingRules,
  loadShippedPolicy,
} from '../../../../coordinator/access/gates/shipped-policies.ts'
import { openScene } from '../../../support/coordinator.ts'
import { temporaryFolder } from '../../kernel/store/temporary.ts'

const FIRST = new URL('../../../fixtures/policy-1.yaml', import.meta.url)
const NEW_RULES = ['flows', 'registers', 'personal-data', 'backups', 'restore']
const gates = loadShippedGates()
const shipped = loadShippedPolicy(gates)
const first = parse(await readFile(FIRST, 'utf8'))
const ADMIN = { kind: 'person', roles: ['operator_admin'] } as const
const own = { id: 'tea', actions: ['tea.*'], decision: 'allowed', reason: 'Tea is harmless.' }
/** The first shipped policy with a rule of the operator at its end. */
const edited = policyOf({ ...first, version: 'own', rules: [...first.rules, own] }, gates)

t.test('an unedited copy of an earlier shipped policy gives way to the shipped one', async t => {
  const file = join(await temporaryFolder(t), 'policy.yaml')
  await writeFile(file, stringify(first))
  const configured = readConfiguredPolicy(file, gates)
  t.match(configured, { hash: shipped.hash, file: undefined, outdatedFile: file })
  t.equal(configured.decide('backup.create', ADMIN).decision, 'allowed')
  t.notOk(isEarlierPolicy(shipped), 'the policy in use is not an earlier one')

  await writeFile(file, stringify(edited.document))
  const kept = readConfiguredPolicy(file, gates)
  t.match(kept, { hash: edited.hash, file, outdatedFile: undefined })
  t.equal(kept.decide('backup.create', ADMIN).decision, 'denied')
})

t.test('a rule that was left out on purpose is not missing', async t => {
  t.strictSame(listMissingRules(edited, shipped), NEW_RULES)
  t.strictSame(listMissingRules(shipped, shipped), [])
  const { hash } = policyOf(first, gates)
  const rules = first.rules.filter(({ id }: { id: string }) => id !== 'campaign')
  const without = policyOf({ ...first, version: 'own', rules }, gates)
  t.strictSame(listMissingRules(without, shipped, hash), NEW_RULES, 'approved over the first one')
  t.ok(listMissingRules(without, shipped).includes('campaign'), 'nothing is known of its origin')
  t.strictSame(listMissingRules(without, shipped, shipped.hash), [], 'approved over this one')
})

t.test('missing rules are added where the shipped policy has them, with their tests', async t => {
  const upgraded = addMissingRules(edited, shipped, NEW_RULES, gates)
  const { rules, tests } = upgraded.document as typeof first
  const ids = rules.map(({ id }: { id: string }) => id)
  t.strictSame(ids.slice(-8), ['repair', ...NEW_RULES, 'own-administration', 'tea'])
  t.equal(tests.length, first.tests.length + 9)
  t.equal(upgraded.version, 'own+shipped-2')
  t.equal(upgraded.decide('tea.make', ADMIN).decision, 'allowed')
  t.match(upgraded.decide('backup.restore', ADMIN), { gateId: 'gate.production-deploy' })
  t.strictSame(listMissingRules(upgraded, shipped), [])

  const deny = { id: 'no', actions: ['backup.*'], decision: 'denied', reason: 'Not here.' }
  const contrary = policyOf({ ...first, version: 'own', rules: [deny, ...first.rules] }, gates)
  t.throws(
    () => addMissingRules(contrary, shipped, NEW_RULES, gates),
    { code: 'invalid_request', message: /backup\.create .* is denied, not allowed/ },
    'rules of the operator that contradict are reported',
  )
})

t.test('the operator of an edited policy is told once how to add the missing rules', async t => {
  const file = join(await temporaryFolder(t), 'policy.yaml')
  await writeFile(file, stringify(edited.document))
  const warnings: string[] = []
  const logger = pino(
    { level: 'warn' },
    {
      write: line => {
        const { msg, reason } = JSON.parse(line)
        if (msg === 'policy') warnings.push(reason)
      },
    },
  )
  const { app, demo } = await openScene(t, {
    logger,
    config: { policy_file: file },
  })
  t.strictSame(warnings, [
    `the policy in force lacks rules that this version ships (${NEW_RULES.join(', ')}); add them with: shoal policy upgrade`,
  ])
  const call = async (key: string, method: 'GET' | 'POST', url: string, payload?: object) => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    return (await app.inject({ method, url, headers, ...(payload && { payload }) })).json()
  }
  const show = () => call(demo.operator, 'GET', '/v1/policy')
  const upgrade = (more = {}) => call(demo.operator, 'POST', '/v1/policy/upgrade', more)
  t.match(await show(), { version: 'own', missing_rules: NEW_RULES })
  t.match(await upgrade({ dry_run: true }), {
    status: 'dry_run',
    summary: '5 rules added, 9 tests added',
  })
  const { request_id } = await upgrade()
  const approve = `/v1/gates/requests/${request_id}/approve`
  t.match(await call(demo.approver_a, 'POST', approve, {}), { state: 'pending' })
  t.match(await call(demo.approver_b, 'POST', approve, {}), { state: 'approved' })
  t.match(await upgrade(), { status: 'changed', number: 1 })
  t.match(await show(), { version: 'own+shipped-2', source: 'approved', missing_rules: [] })
  t.match(await upgrade(), { status: 'unchanged', number: 1 })
})
