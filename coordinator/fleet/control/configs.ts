import type { Logger } from 'pino'
import { mergeSharedEnvelopes } from '../../../devices/envelope/merge-shared-envelopes.ts'
import { mergeScopes } from '../../../discovery/merge-scopes.ts'
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
import type { Store } from '../../kernel/store/store.ts'
import type { Models } from '../models/models.ts'
import {
  type ConfigChange,
  type ConfigDocument,
  configKeyOf,
  EGRESS,
  FLEET,
  writeConfig,
} from './config-store.ts'
import { type Egress, KnownConfigs } from './known-configs.ts'

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
  /** Returns a cell's configuration. Throws `not_found`, or `internal` for an unreadable document. */
  show(cellId: string): Promise<CellConfig>
  /** Answers a cell's announcement, the message with this id, with its desired configuration. */
  answerBirth(cellId: string, messageId: string): Promise<void>
  /** One body of the `reported` topic. */
  recordReport(cellId: string, body: unknown): void
  close(): Promise<void>
}

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
  const known = new KnownConfigs({ ledger, models: parts.models, logger })
  const reports = new Map<string, ReportedBody & { at: number }>()

  const showKnown: Configs['show'] = async cellId => {
    const tags = await parts.tagsOf(cellId)
    if (tags === undefined) throw createUnknownError('cell', cellId)
    const keys = [
      configKeyOf('fleet', FLEET),
      ...tags.map(tag => configKeyOf('tag', tag)),
      configKeyOf('cell', cellId),
    ]
    const sources = known.listFor(cellId, keys)
    const document = mergeSources(sources.map(({ document }) => document))
    const level = parts.capability(cellId)
    return {
      tags,
      sources,
      version: Math.max(
        parts.models?.version ?? 0,
        known.egressVersion,
        ...sources.map(({ version }) => version),
      ),
      document,
      withheld: level === undefined ? undefined : listWithheld(document, SETTING_KEYS, level),
      reported: reports.get(cellId),
    }
  }

  /** Reads what could not be read again: a row may have been repaired at its version. */
  const lookAgain = async (): Promise<void> => {
    if (known.isReadable) return
    await known.catchUp().catch(() => {})
    if (known.pendingChanges.size > 0) void changes.look()
  }

  const tell = async (cellId: string, answers?: string): Promise<void> => {
    const { version: newest, document: shown } = await showKnown(cellId)
    // A cell takes one document of a version, which must have every earlier change
    const version = Math.min(newest, known.settled)
    const models = parts.models?.settingsFor(cellId)
    const downloads = known.egress === 'off' && { downloads: 'off' }
    const document = { ...shown, ...(models && { models: { ...models, ...downloads } }) }
    const { document: checked } = DesiredBody.parse({ version, document })
    const level = parts.capability(cellId) ?? FIRST_CAPABILITY
    const given = withholdKeys(checked, SETTING_KEYS, level)
    const wanted = { version, document: given, cell_id: cellId, issued_at: now() }
    const named = answers === undefined ? wanted : { ...wanted, answers }
    await parts.publish(cellId, signDesired(named, parts.signer))
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

  const tellNews = async (): Promise<void> => {
    await known.catchUp()
    for (const change of known.pendingChanges) {
      if (change.version > known.settled) continue
      known.pendingChanges.delete(change)
      const { scope, name } = change
      await tellAll(scope, name).catch(logUnsent(scope, name))
    }
  }

  await known.catchUp()
  known.pendingChanges.clear()
  const changes = followChanges({
    subscribe: listener => revisions.onChange('configs', listener),
    read: tellNews,
    onFailure: error => logger.warn({ err: error }, 'configuration not read again'),
    runtime: parts.runtime,
  })
  const unlisten = parts.models?.changes.add(() => {
    known.pendingChanges.add({ scope: 'fleet', name: FLEET, version: parts.models?.version ?? 0 })
    void changes.look()
  })

  const set: Configs['set'] = async (change, by) => {
    const { scope, name } = change
    if (scope === 'cell' && (await parts.tagsOf(name)) === undefined)
      throw createUnknownError('cell', name)
    const kept = await writeConfig(ledger, change, by, now())
    known.keep(kept)
    // The follower reports a read that fails, and repeats it
    await known.catchUp().catch(() => {})
    void changes.look()
    return kept
  }

  return {
    set,
    setEgress: async egress => {
      if (known.egress === egress && known.isEgressReadable) return
      const ifVersion = known.egressVersion
      const change = { scope: 'fleet', name: EGRESS, document: { egress }, ifVersion } as const
      await set(change, { actor: 'coordinator' })
    },
    list: () => known.list(),
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
