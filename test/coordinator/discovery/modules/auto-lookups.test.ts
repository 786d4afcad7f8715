import t from 'tap'
import { scheduleLookups } from '../../../../coordinator/discovery/modules/auto-lookups.ts'
import { DISCOVERY_MODULES } from '../../../../discovery/modules.ts'
import { systemRuntime } from '../../../../shared/runtime.ts'

const schedule = (upstreams: { egress: 'on' | 'off'; auto_run: 'on' | 'off' }) => {
  const work = new Map<string, () => unknown>()
  const ran: string[] = []
  const failures: object[] = []
  scheduleLookups({
    runtime: systemRuntime,
    config: { upstreams },
    leaderWork: { every: (name, _seconds, run) => void work.set(name, run as () => unknown) },
    lookups: {
      run: async module => {
        ran.push(module.id)
        throw new Error('no source answers')
      },
    },
    logger: { info: (facts: object) => void failures.push(facts) },
    modules: DISCOVERY_MODULES,
  })
  return { work, ran, failures }
}

t.test('Lookups run by themselves only where that is switched on', async t => {
  t.equal(schedule({ egress: 'on', auto_run: 'off' }).work.size, 0)
  t.equal(schedule({ egress: 'off', auto_run: 'on' }).work.size, 0)
})

t.test('A lookup without needed input has a schedule, and its failure is noted', async t => {
  const { work, ran, failures } = schedule({ egress: 'on', auto_run: 'on' })
  const lookups = DISCOVERY_MODULES.filter(({ reach }) => reach === 'internet')
  const scheduled = lookups.filter(
    ({ autoRun, input }) => autoRun !== undefined && input.safeParse({}).success,
  )
  t.same(
    [...work.keys()],
    scheduled.map(({ id }) => `lookups.${id}`),
  )
  for (const run of work.values()) await run()
  t.same(
    ran,
    scheduled.map(({ id }) => id),
  )
  t.equal(failures.length, scheduled.length)
})
