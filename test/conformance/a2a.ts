import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { Keys } from '../../coordinator/access/keys/keys.ts'
import { createPerson } from '../../coordinator/access/people/people.ts'
import { createTenant } from '../../coordinator/access/people/tenants.ts'
import { serve } from '../../coordinator/assembly/serve.ts'
import { CoordinatorConfig } from '../../coordinator/config.ts'
import { openStore } from '../../coordinator/kernel/store/store.ts'
import { createLogger } from '../../shared/logger.ts'
import { asKitsExpect } from './as-kits-expect.ts'
import { fixtureExecutor } from './fixture-executor.ts'

/*
 * The product's A2A surface on loopback, without keys, with the fixture in place of the skills, for
 * the public kits. `--card hybrid` for kits of before 1.0, `--hook 127.0.0.1:9999` for a receiver
 * of theirs, as often as needed. Stops on SIGINT.
 */

const { values } = parseArgs({
  options: {
    port: { type: 'string', default: '0' },
    card: { type: 'string', default: 'v1' },
    hook: { type: 'string', multiple: true, default: [] },
  },
})

const TENANT = 'conformance'
const BY = { actor: TENANT }

const folder = await mkdtemp(join(tmpdir(), 'shoal-conformance-'))
const config = CoordinatorConfig.parse({
  state_dir: folder,
  http: { host: '127.0.0.1', port: Number(values.port), drain_seconds: 0 },
  a2a: { card_default: values.card },
  outbound: { allow: values.hook, allow_http: true },
})
const store = await openStore(folder)
const logger = createLogger({ level: 'silent', name: TENANT })
await createTenant(store.ledger, { id: TENANT, name: TENANT }, BY)
await createPerson(store.ledger, { id: TENANT, tenantId: TENANT, name: TENANT }, BY)
const keys = new Keys({ store, logger })
const { key } = await keys.create(
  { tenantId: TENANT, personId: TENANT, tier: 'enterprise', kind: 'ci_pipeline' },
  BY,
)
keys.close()
await store.close()
const fixture = { executor: fixtureExecutor, key, wrapHandler: asKitsExpect }
const coordinator = await serve(config, logger, { fixture })
process.stdout.write(`${coordinator.url}\n`)

const stop = async (): Promise<void> => {
  await coordinator.close()
  await rm(folder, { recursive: true, force: true })
  process.exit(0)
}
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void stop())
