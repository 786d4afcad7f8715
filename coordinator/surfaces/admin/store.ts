import { type Command, Option } from 'commander'
import { ShoalError } from '../../../shared/errors.ts'
import { type Format, formatOutput } from '../../../shared/print.ts'
import { runInMaintenance } from '../../kernel/replicas/maintenance.ts'
import { copyStore } from '../../kernel/store/copy.ts'
import { type StorePlace, storePlaceOf } from '../../kernel/store/place.ts'
import { openStore, type Store } from '../../kernel/store/store.ts'
import type { AdminConfig } from './admin-config.ts'
import { type OpenSigningKey, requireIntactAudit } from './audit.ts'
import type { RunAlone } from './on-store.ts'

const ENGINES = ['sqlite', 'postgres'] as const
type EngineName = (typeof ENGINES)[number]

/** Commands about the store as a whole. They need the configuration, which names both places. */
export const addStoreCommands = (
  program: Command,
  config: () => AdminConfig,
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
        if (from === to) throw new ShoalError('wrong_usage', '--from and --to name the same store')
        const source = placeOf(from, config())
        const target = placeOf(to, config())
        const copied = await onStore(source, { mustExist: true }, store =>
          copyVerified(store, target, sign),
        )
        const { format } = program.opts<{ format: Format }>()
        write(formatOutput(copied, format))
      }),
    )
}

const placeOf = (name: EngineName, config: AdminConfig): StorePlace => {
  if (name === 'sqlite') return config.state_dir
  if (config.store.url !== undefined) return storePlaceOf(config)
  throw new ShoalError('config_invalid', 'store.url must name the PostgreSQL database')
}

/** Opens a store for one work. */
const onStore = async <T>(
  place: StorePlace,
  options: { mustExist?: boolean },
  run: (store: Store) => Promise<T>,
): Promise<T> => {
  const store = await openStore(place, options)
  try {
    return await run(store)
  } finally {
    await store.close()
  }
}

/**
 * Throws `audit_broken` or `conflict` before the target is made, and `audit_broken` when the copy
 * has another head.
 */
const copyVerified = async (
  from: Store,
  target: StorePlace,
  sign: OpenSigningKey,
): Promise<Record<string, string | number>> => {
  // opens the secrets, which an earlier version has kept in files, and which the copy needs too
  await sign(from)
  const { head: before } = await requireIntactAudit(from, sign)
  return runInMaintenance(from, () =>
    onStore(target, {}, async to => {
      const rows = await copyStore(from, to)
      const { head: after } = await requireIntactAudit(to, sign)
      if (after.hash !== before.hash)
        throw new ShoalError('audit_broken', `the copy ends with ${after.hash}, not ${before.hash}`)
      const copied = Object.values(rows).reduce((sum, count) => sum + count, 0)
      const tables = Object.keys(rows).length
      return { tables, rows: copied, audit_rows: after.seq, head: after.hash }
    }),
  )
}
