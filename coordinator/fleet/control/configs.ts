import type { Logger } from 'pino'
import { mergeSharedEnvelopes } from '../../../devices/envelope/merge-shared-envelopes.ts'
import { mergeScopes } from '../../../discovery/merge-scopes.ts'
import { ShoalError } from '../../../shared/errors.ts'
import { createUnknownError } from '../../../shared/reference-errors.ts'
import { nextTurn, type Runtime } from '../../../shared/runtime.ts'
import type { Signer } from '../../../shared/signing.ts'
import {
  FIRST_CAPABILITY,
  listWithheld,
  SETTING_KEYS,
  withholdKeys,
} from '../../../shared/wire/capability.ts'
import {
  DesiredBody,
  mergeDocuments,
  ReportedBody,
  signDesired,
} from '../../../shared/wire/desired.ts'
import type { SharedEnvelopes } from '../../../shared/wire/safety-envelope.ts'
import type { DiscoverySettings } from '../../../shared/wire/scan-scope.ts'
import type { Actor } from '../../kernel/audit/audit.ts'
import { followChanges } from '../../kernel/base/follow-changes.ts'
import { shareRuns } from '../../kernel/base/share-runs.ts'
import type { Store } from '../../kernel/store/store.ts'
import type { Models } from '../models/models.ts'
import { CONFIG_SCOPES } from './config.table.ts'
import {
  type ConfigChange,
  type ConfigDocument,
  configKeyOf,
  EGRESS,
  FLEET,
  readConfigs,
  type UnreadableConfig,
  writeConfig,
} from './config-store.ts'

/** Desired configuration of a cell, the documents it was merged from, and the cell's own report. */
export interface CellConfig {
  /** Tags in the order in which their documents are merged. */
  tags: readonly string[]
  sources: ConfigDocument[]
  version: number
  document: Record<string, unknown>
  /**
   * Keys of the document that are withheld from the cell, with the capability level that each needs;
   * undefined until the cell has announced itself to this coordinator.
   */
  withheld: { key: string; level: number }[] | undefined
  /** Cell's latest report; undefined if none has come since this coordinator started. */
  reported: (ReportedBody & { at: number }) | undefined
}

interface ConfigsParts {
  store: Pick<Store, 'ledger' | 'revisions'>
  signer: Signer
  /** Models that operators added, which a cell receives with its configuration. */
  models?: Pick<Models, 'settingsFor' | 'version' | 'changes' | 'look'>
  /** Undefined for a cell that is not enrolled. */
  tagsOf: (cellId: string) => Promise<readonly string[] | undefined>
  /** Capability level that a cell has announced; undefined before. */
  capability: (cellId: string) => number | undefined
  /** Cells that are connected. */
  here: () => Iterable<string>
  publish: (cellId: string, desired: DesiredBody) => Promise<void>
  /** Unix milliseconds. */
  now: () => number
  runtime: Pick<Runtime, 'setTimeout' | 'setImmediate'>
  logger: Logger
}

export type Egress = 'on' | 'off'

export interface Configs {
  /**
   * Throws `not_found`, `conflict` when the document is not at `ifVersion` any more, and what
   * `require` throws.
   */
  set(change: ConfigChange, by: Actor): Promise<ConfigDocument>
  /** Every document that can be read, as this coordinator knows it. */
  list(): ConfigDocument[]
  /**
   * Records whether cells may download the models that operators added, where that has changed, and
   * tells the cells. Throws `conflict` when another coordinator has just done so.
   */
  setEgress(egress: Egress): Promise<void>
  /** Throws `not_found`, and `internal` when a document that applies to the cell cannot be read. */
  show(cellId: string): Promise<CellConfig>
  /** Answers a cell's announcement, the message with this id, with its desired configuration. */
  answerBirth(cellId: string, messageId: string): Promise<void>
  /** One body of the `reported` topic. */
  recordReport(cellId: string, body: unknown): void
  close(): Promise<void>
}

const EGRESS_KEY = configKeyOf('fleet', EGRESS)

const SCOPES: ReadonlySet<string> = new Set(CONFIG_SCOPES)

/**
 * Merges documents: the last one wins, except that limits of devices only become stricter, and that
 * scopes of discovery add up.
 */
const mergeSources = (documents: readonly Record<string, unknown>[]): Record<string, unknown> => {
  const envelopes = documents.flatMap(({ envelopes }) => (envelopes ?? []) as SharedEnvelopes)
  const scopes = documents.map(({ discovery }) => (discovery as DiscoverySettings)?.scope ?? [])
  const merged = mergeDocuments(...documents)
  return {
    ...merged,
    ...(envelopes.length > 0 && { envelopes: mergeSharedEnvelopes(envelopes) }),
    ...(merged.discovery !== undefined && {
      discovery: { ...merged.discovery, scope: mergeScopes(scopes) },
    }),
  }
}

export const createConfigs = async (parts: ConfigsParts): Promise<Configs> => {
  const { now, logger } = parts
  const { ledger, revisions } = parts.store
  const documents = new Map<string, ConfigDocument>()
  /** Documents that cannot be read: without their limits and scopes, cells must not be configured. */
  const unreadable = new Map<string, UnreadableConfig>()
  /** Version up to which every change is known, whichever coordinator has made it. */
  let settled = 0
  /** Changes that the cells connected here have not been sent. */
  const pendingChanges = new Set<Pick<ConfigDocument, 'scope' | 'name' | 'version'>>()
  const reports = new Map<string, ReportedBody & { at: number }>()

  const showKnown: Configs['show'] = async cellId => {
    const tags = await parts.tagsOf(cellId)
    if (tags === undefined) throw createUnknownError('cell', cellId)
    const keys = [
      configKeyOf('fleet', FLEET),
      ...tags.map(tag => configKeyOf('tag', tag)),
      configKeyOf('cell', cellId),
    ]
    requireReadable(cellId, keys)
    const sources = keys.flatMap(key => documents.get(key) ?? [])
    const document = mergeSources(sources.map(({ document }) => document))
    const level = parts.capability(cellId)
    return {
      tags,
      sources,
      version: Math.max(
        parts.models?.version ?? 0,
        versionOf(EGRESS_KEY),
        ...sources.map(({ version }) => version),
      ),
      document,
      withheld: level === undefined ? undefined : listWithheld(document, SETTING_KEYS, level),
      reported: reports.get(cellId),
    }
  }

  /** A scope that only a newer version knows may apply to any cell; limits must not be lost with it. */
  const requireReadable = (cellId: string, keys: readonly string[]): void => {
    for (const [key, { scope, name, mayLimit }] of unreadable)
      if (keys.includes(key) || (!SCOPES.has(scope) && mayLimit))
        throw new ShoalError(
          'internal',
          `the configuration of ${cellId} is unknown: that of ${scope} ${name} cannot be read`,
        )
  }

  /** Reads what could not be read again: a row may have been repaired at its version. */
  const lookAgain = async (): Promise<void> => {
    if (unreadable.size === 0) return
    await catchUp().catch(() => {})
    if (pendingChanges.size > 0) void changes.look()
  }

  const tell = async (cellId: string, answers?: string): Promise<void> => {
    const { version: newest, document: shown } = await showKnown(cellId)
    // A cell takes one document of a version, which must have every earlier change
    const version = Math.min(newest, settled)
    const models = parts.models?.settingsFor(cellId)
    const downloads = readEgress() === 'off' && { downloads: 'off' }
    const document = { ...shown, ...(models && { models: { ...models, ...downloads } }) }
    const { document: checked } = DesiredBody.parse({ version, document })
    const level = parts.capability(cellId) ?? FIRST_CAPABILITY
    const known = withholdKeys(checked, SETTING_KEYS, level)
    const wanted = { version, document: known, cell_id: cellId, issued_at: now() }
    const named = answers === undefined ? wanted : { ...wanted, answers }
    await parts.publish(cellId, signDesired(named, parts.signer))
  }

  const readEgress = (): Egress => {
    if (unreadable.has(EGRESS_KEY)) return 'off'
    return (documents.get(EGRESS_KEY)?.document.egress as Egress | undefined) ?? 'on'
  }

  const isMeant = async (scope: ConfigDocument['scope'], name: string, cellId: string) => {
    if (scope === 'fleet') return true
    return scope === 'cell' ? cellId === name : (await parts.tagsOf(cellId))?.includes(name)
  }

  const logUnsent = (scope: ConfigDocument['scope'], name: string) => (error: Error) =>
    logger.warn(
      { [scope]: name, reason: error.message },
      'configuration change not sent to the cells',
    )

  const tellAll = async (scope: ConfigDocument['scope'], name: string): Promise<void> => {
    for (const cellId of parts.here()) {
      if (await isMeant(scope, name, cellId)) await tell(cellId).catch(logUnsent(scope, name))
      // Yields, so that a tag of a whole fleet does not block other work
      await nextTurn(parts.runtime)
    }
  }

  const findNewest = (): number => {
    let newest = parts.models?.version ?? 0
    for (const { version } of [...documents.values(), ...unreadable.values()])
      newest = Math.max(newest, version)
    return newest
  }

  const versionOf = (key: string): number =>
    (documents.get(key) ?? unreadable.get(key))?.version ?? 0

  const keep = (config: ConfigDocument): void => {
    const key = configKeyOf(config.scope, config.name)
    documents.set(key, config)
    unreadable.delete(key)
    pendingChanges.add(config)
  }

  /** Reads documents that have changed since `settled`, and those that could not be read. */
  const readNews = async (): Promise<void> => {
    const unread = [...unreadable]
    const after = Math.min(settled, ...unread.map(([, { version }]) => version - 1))
    const configs = await readConfigs(ledger, after, logger)
    for (const config of configs) {
      const key = configKeyOf(config.scope, config.name)
      const isRepaired =
        config.document !== undefined && unreadable.get(key)?.version === config.version
      if (config.version !== 0 && config.version <= versionOf(key) && !isRepaired) continue
      if (config.document === undefined) {
        documents.delete(key)
        unreadable.set(key, config)
      } else keep(config)
    }
    const stored = new Set(configs.map(({ scope, name }) => configKeyOf(scope, name)))
    for (const [key, config] of unread) if (!stored.has(key)) forget(key, config)
  }

  /** A row that is stored no more, or under another scope, does not hold cells any longer. */
  const forget = (key: string, { scope, name, version }: UnreadableConfig): void => {
    if (!unreadable.delete(key)) return
    const isKnown = SCOPES.has(scope)
    pendingChanges.add(
      isKnown ? { scope, name, version } : { scope: 'fleet', name: FLEET, version },
    )
  }

  /**
   * Takes over what other coordinators have set. Documents and models share their versions, which
   * are committed in order: once both were read, no version that was known before is missing.
   */
  const catchUp = shareRuns(async () => {
    do {
      const known = findNewest()
      await parts.models?.look()
      await readNews()
      settled = known
    } while (findNewest() > settled)
  })

  const tellNews = async (): Promise<void> => {
    await catchUp()
    for (const change of pendingChanges) {
      if (change.version > settled) continue
      pendingChanges.delete(change)
      const { scope, name } = change
      await tellAll(scope, name).catch(logUnsent(scope, name))
    }
  }

  await catchUp()
  pendingChanges.clear()
  const changes = followChanges({
    subscribe: listener => revisions.onChange('configs', listener),
    read: tellNews,
    onFailure: error => logger.warn({ err: error }, 'configuration not read again'),
    runtime: parts.runtime,
  })
  const unlisten = parts.models?.changes.add(() => {
    pendingChanges.add({ scope: 'fleet', name: FLEET, version: parts.models?.version ?? 0 })
    void changes.look()
  })

  const set: Configs['set'] = async (change, by) => {
    const { scope, name } = change
    if (scope === 'cell' && (await parts.tagsOf(name)) === undefined)
      throw createUnknownError('cell', name)
    const kept = await writeConfig(ledger, change, by, now())
    keep(kept)
    // The follower reports a read that fails, and repeats it
    await catchUp().catch(() => {})
    void changes.look()
    return kept
  }

  return {
    set,
    setEgress: async egress => {
      if (readEgress() === egress && !unreadable.has(EGRESS_KEY)) return
      const ifVersion = versionOf(EGRESS_KEY)
      const change = { scope: 'fleet', name: EGRESS, document: { egress }, ifVersion } as const
      await set(change, { actor: 'coordinator' })
    },
    list: () => [...documents.values()],
    show: async cellId => {
      await lookAgain()
      return showKnown(cellId)
    },
    answerBirth: async (cellId, messageId) => {
      await lookAgain()
      await tell(cellId, messageId)
    },
    recordReport: (cellId, body) => {
      const report = ReportedBody.parse(body)
      const { state, desired_version, applied_version, errors } = report
      reports.set(cellId, { ...report, at: now() })
      if (state === 'refused' || state === 'rolled_back')
        logger.warn(
          { cell: cellId, state, desired_version, applied_version, errors },
          'configuration not applied',
        )
    },
    close: async () => {
      unlisten?.()
      await changes.close()
    },
  }
}
