import t from 'tap'
import { checkModuleConfig } from '../../../daemon/discovery/check-config.ts'
import { readOwnNetworks } from '../../../daemon/discovery/own-networks.ts'
import { scanItems } from '../../../daemon/helper/child/scan-items.ts'
import { Helper } from '../../../daemon/helper/helper.ts'
import { createSpawner } from '../../../daemon/helper/helper-child.ts'
import { isScan } from '../../../discovery/module.ts'
import type { ScanRun } from '../../../discovery/scan-run.ts'
import { requireInScope } from '../../../discovery/scope.ts'
import type { ScanItem } from '../../../shared/wire/findings.ts'
import { testModule } from '../../support/test-module.ts'

const collect = async (run: ScanRun<never>, deadlineSeconds = 10) => {
  if (!isScan(testModule)) throw new TypeError('no scan')
  const context = {
    signal: new AbortController().signal,
    report: () => {},
    scope: { entries: [] },
    config: undefined,
  }
  const module = { row: testModule.row, deadlineSeconds }
  const items: ScanItem[] = []
  for await (const item of scanItems({ module, run }, {} as never, context)) items.push(item)
  return items
}

t.test('a wrong setting of a module is named when the daemon starts', async t => {
  const helper = new Helper({ spawn: createSpawner(process.env)('host') })
  t.teardown(() => helper.stop())
  await checkModuleConfig({ modules: {} }, helper)
  t.equal(helper.pid, undefined, 'without settings nothing is started')
  for (const [id, message] of [
    ['no-such-module', /discovery\.modules\.no-such-module: there is no such module/],
    ['network-map', /discovery\.modules\.network-map: this module has no configuration/],
  ] as const)
    await t.rejects(checkModuleConfig({ modules: { [id]: {} } }, helper), {
      code: 'config_invalid',
      message,
    })
})

t.test('a run that reaches its deadline ends with what it has found', async t => {
  // the timer of a deadline does not keep a process alive; the pipe of a helper does
  const alive = setInterval(() => {}, 1000)
  t.teardown(() => clearInterval(alive))
  const items = await collect(async function* (_input, { signal }) {
    yield { name: 'found', size_bytes: 1 }
    await new Promise(done => signal.addEventListener('abort', done))
  }, 0.05)
  t.match(items, [{ type: 'row' }, { type: 'warning', code: 'partial_result' }])
})

t.test('a target outside the scope is an answer with the reason', async t => {
  const items = await collect((_input, { scope }) => {
    requireInScope(scope, '192.0.2.1')
    return []
  })
  t.match(items, [{ type: 'unavailable', reason: /192\.0\.2\.1 is outside the scope/ }])
})

t.test('rows that came before a failure are kept, and warnings are bounded', async t => {
  const items = await collect(function* (_input, { warn }) {
    for (let n = 0; n < 100; n++) warn('partial_result', `warning ${n}`)
    yield { name: 'found', size_bytes: 1 }
    throw new Error('it broke')
  })
  t.equal(items.filter(({ type }) => type === 'warning').length, 16)
  t.equal(items.filter(({ type }) => type === 'row').length, 1)
  const failing: ScanRun<never> = () => {
    throw new Error('it broke')
  }
  await t.rejects(collect(failing), { message: 'it broke' })
})

t.test('subnets of container bridges are excluded, those of other interfaces proposed', async t => {
  const entry = (cidr: string, internal = false) => [{ cidr, internal } as never]
  const interfaces = () => ({
    lo: entry('127.0.0.1/8', true),
    eth0: [...entry('192.0.2.7/24'), ...entry('fe80::1/64'), ...entry('2001:db8::7/64')],
    docker0: entry('172.17.0.1/16'),
    'br-0a1b2c': entry('172.18.0.1/16'),
    virbr0: entry('192.168.122.1/24'),
  })
  t.strictSame(readOwnNetworks(interfaces), {
    proposals: ['192.0.2.0/24', '2001:db8::/64'],
    excluded: ['172.17.0.0/16', '172.18.0.0/16', '192.168.122.0/24'],
  })
})
