import { isDeepStrictEqual } from 'node:util'
import type { Logger } from 'pino'
import type { Catalogue, CatalogueEntry } from '../../../shared/catalogue.ts'
import type { Runtime } from '../../../shared/runtime.ts'
import { extendCatalogue, type RegisteredModels } from '../../../shared/wire/registered-models.ts'
import type { Actor } from '../../kernel/audit/audit.ts'
import { followChanges } from '../../kernel/base/follow-changes.ts'
import { Listeners } from '../../kernel/base/listeners.ts'
import { readEach } from '../../kernel/store/read-each.ts'
import type { Store } from '../../kernel/store/store.ts'
import { type RegisteredModel, registeredModelOf } from './registered-model.ts'
import { type ModelChange, writeModel } from './write-model.ts'

interface ModelsParts {
  store: Pick<Store, 'ledger' | 'revisions'>
  /** Catalogue of the configuration. */
  configured: Catalogue
  /** Unix milliseconds. */
  now: () => number
  runtime: Pick<Runtime, 'setTimeout'>
  logger: Pick<Logger, 'warn'>
}

/** Models of the configuration and those that operators added while coordinators run. */
export class Models {
  /**
   * Every model that clients may name: one list for the life of the process, whose members change.
   * A reader that keeps a copy does not notice changes.
   */
  readonly catalogue: Catalogue
  /** Notifies listeners after each change. */
  readonly changes = new Listeners<[]>()
  readonly #parts: ModelsParts
  readonly #configured: ReadonlyMap<string, CatalogueEntry>
  #registered: ReadonlyMap<string, RegisteredModel> = new Map()
  #version = 0
  /** Resolves when all reads so far have ended. */
  #last: Promise<void> = Promise.resolve()

  private constructor(parts: ModelsParts) {
    this.#parts = parts
    this.catalogue = [...parts.configured]
    this.#configured = new Map(parts.configured.map(entry => [entry.id, entry]))
  }

  static async open(parts: ModelsParts): Promise<{ models: Models; close: () => Promise<void> }> {
    const models = new Models(parts)
    await models.#read()
    for (const id of models.#registered.keys())
      if (models.#configured.has(id))
        parts.logger.warn(
          { model: id },
          `the model of the configuration is replaced by one that an operator added; shoal models remove ${id} ends that`,
        )
    const { close } = followChanges({
      subscribe: listener => parts.store.revisions.onChange('models', listener),
      read: models.look,
      onFailure: error => parts.logger.warn({ err: error }, 'models not read again'),
      runtime: parts.runtime,
    })
    return { models, close }
  }

  /** Highest version of a change; 0 before the first. */
  get version(): number {
    return this.#version
  }

  list(): RegisteredModel[] {
    return [...this.#registered.values()]
  }

  find(id: string): RegisteredModel | undefined {
    return this.#registered.get(id)
  }

  isConfigured(id: string): boolean {
    return this.#configured.has(id)
  }

  /** Ids that stand for a model. */
  aliasesOf(id: string): string[] {
    return this.list().flatMap(model => (model.aliasOf === id ? [model.id] : []))
  }

  /**
   * Changes the registered models, audited; it is in force when this resolves.
   * @throws ShoalError conflict, model_not_found or invalid_request
   */
  async change(change: ModelChange, by: Actor): Promise<void> {
    const { store, now } = this.#parts
    const parts = { ledger: store.ledger, configured: this.#configured, now: now() }
    await writeModel(parts, change, by)
    await this.look()
  }

  /** The registered models that are meant for a cell; undefined when there are none. */
  settingsFor(cellId: string): RegisteredModels | undefined {
    const isMeant = ({ cells }: RegisteredModel) => cells.length === 0 || cells.includes(cellId)
    const entries = this.list().flatMap(model =>
      model.entry !== undefined && isMeant(model) ? [model.entry] : [],
    )
    const sent = new Set(entries.map(({ id }) => id))
    const aliases = this.list().flatMap(({ id, aliasOf }) =>
      aliasOf !== undefined && (sent.has(aliasOf) || !this.#registered.has(aliasOf))
        ? [{ id, model: aliasOf }]
        : [],
    )
    return entries.length + aliases.length === 0 ? undefined : { entries, aliases }
  }

  /** Reads the registered models; reads do not overtake each other. */
  look = (): Promise<void> => {
    const done = this.#last.then(() => this.#read())
    this.#last = done.catch(() => {})
    return done
  }

  async #read(): Promise<void> {
    const { store, configured, logger } = this.#parts
    const rows = await store.ledger.read.selectFrom('models').selectAll().orderBy('id').execute()
    const present = rows.filter(({ removed }) => removed === 0)
    // a model that only a newer coordinator understands is left to that one
    const registered = readEach(present, registeredModelOf, logger)
    const before = this.#version
    this.#version = Math.max(0, ...rows.map(({ version }) => version))
    this.#registered = new Map(registered.map(model => [model.id, model]))
    const next = extendCatalogue(configured, {
      entries: registered.flatMap(({ entry }) => entry ?? []),
      aliases: registered.flatMap(({ id, aliasOf }) =>
        aliasOf === undefined ? [] : [{ id, model: aliasOf }],
      ),
    })
    if (!isDeepStrictEqual(next, this.catalogue))
      this.catalogue.splice(0, this.catalogue.length, ...next)
    if (this.#version !== before) this.changes.notify()
  }
}
