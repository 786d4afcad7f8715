import { type Command, Option } from 'commander'
import { ShoalError } from '../../shared/errors.ts'
import { newId } from '../../shared/ids.ts'
import { type Format, formatOutput } from '../../shared/print.ts'
import { readCheckpoint } from '../audit/checkpoint.ts'
import { verifyAudit } from '../audit/verify.ts'
import type { CoordinatorConfig } from '../config.ts'
import { LEADER_LEASE } from '../leader/lease-leader.ts'
import { copyStore } from '../store/copy.ts'
import { createLeases } from '../store/leases.ts'
import { type StorePlace, storePlaceOf } from '../store/place.ts'
import { openStore, requireStore, type Store } from '../store/store.ts'
import type { OpenSigningKey, RunAlone } from './audit.ts'

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
    .description('copy everything into an empty store; every coordinator must be stopped')
    .addOption(engine('--from', 'store to read: sqlite in state_dir, or postgres at store.url'))
    .addOption(engine('--to', 'empty store to write'))
    .action(({ from, to }: { from: EngineName; to: EngineName }) =>
      runAlone(async () => {
        const places = [from, to].map(name => placeOf(name, config()))
        requireStore(places[0] as StorePlace)
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
  const first = await openStore(from)
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
  if (from.isShared) await requireUnused(from)
  const before = await readHead(from, sign)
  const rows = await copyStore(from, to)
  const after = await readHead(to, sign)
  if (after.hash !== before.hash)
    throw new ShoalError('audit_broken', `the copy ends with ${after.hash}, not ${before.hash}`)
  const copied = Object.values(rows).reduce((sum, count) => sum + count, 0)
  return { tables: Object.keys(rows).length, rows: copied, audit_rows: after.seq, head: after.hash }
}

const readHead = async ({ ledger }: Store, sign: OpenSigningKey) => {
  const purged = await readCheckpoint(ledger.read)
  const endorses = purged && (await sign()).endorses
  const verdict = await verifyAudit(ledger, { endorses })
  if (verdict.ok) return verdict.head
  throw new ShoalError('audit_broken', `the audit chain is broken: ${verdict.reason}`)
}

/** Throws `conflict` while a coordinator leads on a store that several machines reach. */
const requireUnused = async ({ ledger }: Store): Promise<void> => {
  const leases = createLeases(ledger)
  const claim = { name: LEADER_LEASE, owner: newId('copy'), milliseconds: 1000 }
  const lease = await leases.acquire(claim)
  if (lease === undefined)
    throw new ShoalError('conflict', 'a coordinator uses the store: stop it first')
  await leases.release(lease)
}
