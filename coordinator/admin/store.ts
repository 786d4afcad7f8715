import { type Command, Option } from 'commander'
import { ShoalError } from '../../shared/errors.ts'
import { type Format, formatOutput } from '../../shared/print.ts'
import type { CoordinatorConfig } from '../config.ts'
import { runInMaintenance } from '../replicas/maintenance.ts'
import { copyStore } from '../store/copy.ts'
import { type StorePlace, storePlaceOf } from '../store/place.ts'
import { openStore, type Store } from '../store/store.ts'
import { type OpenSigningKey, requireIntactAudit } from './audit.ts'
import type { RunAlone } from './on-store.ts'

const ENGINES = ['sqlite', 'postgres'] as const
type EngineName = (typeof ENGINES)[number]

/** Commands about the store as a whole. They need the configuration, which names both places. */
export const addStoreCommands = (
  program: Command,
  config: () => CoordinatorConfig,
  { sign, runAlone }: { sign: OpenSigningKey; runAlone: RunAlone },
  write: (text: string) => void = text => void process.stdout.write(text),
): void => {
  const engine = (flag: string, text: string) =>
    new Option(`${flag} <engine>`, text).choices(ENGINES).makeOptionMandatory()
  program
    .command('store')
    .description('manage the store')
    .command('copy')
    .description(
      'copy everything into an empty store; every coordinator must be stopped, and the sealing.key of the source must be in the state folder',
    )
    .addOption(engine('--from', 'store to read: sqlite in state_dir, or postgres at store.url'))
    .addOption(engine('--to', 'empty store to write'))
    .action(({ from, to }: { from: EngineName; to: EngineName }) =>
      runAlone(async () => {
        const places = [from, to].map(name => placeOf(name, config()))
        const stores = await openBoth(places as [StorePlace, StorePlace])
        try {
          const { format } = program.opts<{ format: Format }>()
          write(formatOutput(await copyVerified(...stores, sign), format))
        } finally {
          await Promise.all(stores.map(store => store.close()))
        }
      }),
    )
}

const placeOf = (name: EngineName, config: CoordinatorConfig): StorePlace => {
  if (name === 'sqlite') return config.state_dir
  if (config.store.url !== undefined) return storePlaceOf(config)
  throw new ShoalError('config_invalid', 'store.url must name the PostgreSQL database')
}

const openBoth = async ([from, to]: [StorePlace, StorePlace]): Promise<[Store, Store]> => {
  const first = await openStore(from, { mustExist: true })
  try {
    return [first, await openStore(to)]
  } catch (error) {
    await first.close()
    throw error
  }
}

/** Throws `audit_broken` before anything is copied, or when the copy has another head. */
const copyVerified = async (
  from: Store,
  to: Store,
  sign: OpenSigningKey,
): Promise<Record<string, string | number>> => {
  // opens the secrets, which an earlier version has kept in files, and which the copy needs too
  await sign(from)
  const { head: before } = await requireIntactAudit(from, sign)
  const rows = await runInMaintenance(from, () => copyStore(from, to))
  const { head: after } = await requireIntactAudit(to, sign)
  if (after.hash !== before.hash)
    throw new ShoalError('audit_broken', `the copy ends with ${after.hash}, not ${before.hash}`)
  const copied = Object.values(rows).reduce((sum, count) => sum + count, 0)
  return { tables: Object.keys(rows).length, rows: copied, audit_rows: after.seq, head: after.hash }
}
