import { LeasedQuota } from '../../../../coordinator/access/quota/quota.ts'
import { Tiers } from '../../../../coordinator/access/quota/tiers.ts'
import { openStore } from '../../../../coordinator/kernel/store/store.ts'
import { systemRuntime } from '../../../../shared/runtime.ts'

/* Asks for many requests at once and says how many it got. */

const [place = '', limit = '', asked = '', now = ''] = process.argv.slice(2)
const store = await openStore(JSON.parse(place))
const allowance = { requests_per_month: Number(limit), requests_per_minute: 100_000 }
const tiers = Tiers.parse({ free: allowance })
const quota = new LeasedQuota({ ticks: systemRuntime.nowMs, store, tiers, logger: console })
process.stdout.write('ready\n')
process.stdin.once('data', async () => {
  const admits = Array.from({ length: Number(asked) }, async () =>
    quota.admit({ id: 'shared', tier: 'free' }, Number(now)),
  )
  const outcomes = await Promise.allSettled(admits)
  const refused = outcomes.filter(outcome => outcome.status === 'rejected')
  const codes = new Set(refused.map(({ reason }) => reason.code))
  const admitted = outcomes.length - refused.length
  process.stdout.write(`${JSON.stringify({ admitted, codes: [...codes] })}\n`)
  await quota.close()
  await store.close()
  process.stdin.destroy()
})
