import t from 'tap'
import { CellScope } from '../../../daemon/discovery/cell-scope.ts'
import { DiscoveryConfig } from '../../../daemon/discovery/config.ts'
import { LiveDiscovery } from '../../../daemon/discovery/live-discovery.ts'
import { runModule } from '../../../daemon/discovery/run-module.ts'
import type { HelperCall } from '../../../daemon/helper/job.ts'
import { helpersWith, testModule } from '../../support/test-module.ts'

/** Settings in force, with the lines that were logged. */
const open = (given: object, check: (call: HelperCall) => Promise<unknown> = async () => null) => {
  const logged: unknown[] = []
  const logger = {
    info: (text: string) => void logged.push(text),
    error: (...line: unknown[]) => void logged.push(...line),
  }
  const config = DiscoveryConfig.parse(given)
  const discovery = new LiveDiscovery({ config, helper: { call: check }, logger: logger as never })
  const readNetworks = () => ({ proposals: [], excluded: [] })
  return { discovery, scope: new CellScope({ config: discovery, readNetworks }), logged }
}

t.test('runs after a reload get the new settings and the new scope', async t => {
  const { discovery, scope, logged } = open({ modules: { 'test-scan': { user: 'old' } } })
  scope.setSettings({ scope: [{ target: 'printer.lan' }] })
  const contexts: unknown[] = []
  const helpers = helpersWith((_input, { config, scope: { entries } }) => {
    contexts.push({ config, entries })
    return []
  })
  const runOnce = () =>
    runModule(
      { helpers, config: discovery, scope, find: async () => testModule },
      'test-scan',
      {},
      new AbortController().signal,
    ).next()
  await runOnce()
  const next = { scope: ['192.0.2.0/24'], modules: { 'test-scan': { user: 'new' } } }
  await discovery.reload(DiscoveryConfig.parse(next))
  await runOnce()
  t.strictSame(contexts, [
    { config: { user: 'old' }, entries: [{ target: 'printer.lan' }] },
    { config: { user: 'new' }, entries: [{ target: '192.0.2.0/24' }, { target: 'printer.lan' }] },
  ])
  t.strictSame(logged, ['discovery settings reloaded'])
  await discovery.reload(DiscoveryConfig.parse({ enabled: false }))
  await t.rejects(runOnce(), { code: 'forbidden' })
})

t.test('settings with a fault are logged, and the previous ones stay', async t => {
  const { discovery, scope, logged } = open(
    { scope: ['192.0.2.7'], modules: { 'snmp-discover': { communities: ['secret-0815'] } } },
    async ({ function: id }) => (id === 'snmp-discover' ? 'communities: must be a list' : null),
  )
  const wrong = {
    scope: ['192.0.2.8'],
    modules: { 'snmp-discover': { communities: 'secret-4711' } },
  }
  await discovery.reload(DiscoveryConfig.parse(wrong))
  t.strictSame(discovery.modules, { 'snmp-discover': { communities: ['secret-0815'] } })
  t.strictSame(scope.read().entries, [{ target: '192.0.2.7' }])
  t.strictSame(logged, [
    { reason: 'discovery.modules.snmp-discover: communities: must be a list' },
    'discovery settings not reloaded: the previous ones stay in force',
  ])
})
