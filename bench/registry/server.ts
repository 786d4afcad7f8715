import { pino } from 'pino'
import { serve } from '../../coordinator/assembly/serve.ts'
import { CoordinatorConfig } from '../../coordinator/config.ts'

/* The coordinator on a store that was filled before; prints its address, ends on SIGTERM. */

const [, , stateDir = '', url] = process.argv
const { url: address, close } = await serve(
  CoordinatorConfig.parse({
    state_dir: stateDir,
    http: { port: 0, drain_seconds: 0 },
    tiers: { enterprise: { requests_per_minute: 100_000, requests_per_month: 'unlimited' } },
    upstreams: { egress: 'off' },
    ...(url === undefined ? {} : { store: { url } }),
  }),
  pino({ level: 'silent' }),
)
process.stdout.write(`${address}\n`)
process.once('SIGTERM', async () => {
  await close()
  process.exit(0)
})
