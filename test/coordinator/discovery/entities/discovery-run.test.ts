import t from 'tap'
import discoveryRun from '../../../../coordinator/discovery/entities/operations/discovery/discovery-run.ts'
import { ShoalError } from '../../../../shared/errors.ts'

type Use = (results: readonly object[]) => unknown
type Run = (input: object, context: object) => Promise<{ modules: object[] }>

const resultOf = (available: boolean, reason: string | null, rows: object[] = []) => ({
  ...{ cellId: 'a', available, reason, takenAt: 0, elapsedMs: 5, warnings: [], rows },
})

t.test('a run of several modules tells complete, unavailable and failed ones apart', async t => {
  const results: Record<string, readonly object[]> = {
    'network-map': [resultOf(true, null, [{ address: '192.0.2.1' }]), resultOf(false, 'no ip')],
    'docker-inventory': [resultOf(false, 'no container engine answers')],
  }
  const run = async ({ id }: { id: string }, _input: object, _caller: object, use: Use) => {
    const result = results[id]
    if (result === undefined) throw new ShoalError('scope_denied', 'outside the scope')
    return use(result)
  }
  const { signal } = new AbortController()
  const context = { moduleRuns: { run }, progress: async () => {}, signal }
  const modules = [...Object.keys(results), 'http-fingerprint', 'snmp-discover']
  const answer = await (discoveryRun.run as unknown as Run)({ modules }, context)
  t.match(answer, { outcome: 'failed', failed: ['http-fingerprint', 'snmp-discover'] })
  const others = await (discoveryRun.run as unknown as Run)(
    { modules: Object.keys(results) },
    context,
  )
  t.match(others, { outcome: 'complete', failed: [] }, 'what no cell can do is no failure')
  t.match(answer.modules, [
    { module: 'network-map', outcome: 'complete', findings: 1, cells: 1, reason: null },
    { outcome: 'unavailable', findings: 0, cells: 0, reason: 'no container engine answers' },
    { outcome: 'failed', findings: null, cells: null, reason: 'outside the scope' },
    { outcome: 'failed', reason: /^snmp-discover needs subnet/ },
  ])
})

t.test('without modules, what is there is found, and the answer says what limited it', async t => {
  const asked: string[] = []
  const message = 'the subnet of eth0 is not in the scope'
  const run = async ({ id }: { id: string }, _input: object, _caller: object, use: Use) => {
    asked.push(id)
    const row = {
      address: '192.0.2.7',
      mac: null,
      is_own: false,
      ports: [],
      answers_every_port: false,
    }
    const rows = id === 'host-scan' ? [row] : []
    return use([{ ...resultOf(true, null, rows), warnings: [{ code: 'out_of_scope', message }] }])
  }
  const { signal } = new AbortController()
  const context = { moduleRuns: { run }, progress: async () => {}, signal }
  t.match(await (discoveryRun.run as unknown as Run)({}, context), {
    outcome: 'complete',
    hosts: [{ addresses: ['192.0.2.7'], found_by: ['host-scan'] }],
    limited_by: [message],
  })
  t.strictSame(asked, ['host-scan', 'network-map', 'mdns-scan', 'runtime-discover'])
  t.notOk(discoveryRun.input.safeParse({ modules: ['host-scan'] }).success, 'it is no module')
})

t.test('an unknown module is refused before a task starts', async t => {
  t.notOk(discoveryRun.input.safeParse({ modules: ['bogus'] }).success)
})
