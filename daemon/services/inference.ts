import { randomInt } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import type { Logger } from 'pino'
import { type Catalogue, weightsLabel } from '../../shared/catalogue.ts'
import { randomId } from '../../shared/ids.ts'
import type { Metric } from '../../shared/metrics/metric.ts'
import { parseAllowed } from '../../shared/outbound/allow-list.ts'
import { extendCatalogue, type RegisteredModels } from '../../shared/wire/registered-models.ts'
import type { EngineReport } from '../../shared/wire/telemetry.ts'
import { type GpuSampler, noGpus } from '../gpu/sampler.ts'
import { systemClock } from '../inference/clock.ts'
import type { InferenceConfig } from '../inference/config.ts'
import { ModelFolder } from '../inference/downloads/model-folder.ts'
import { engineSpawner } from '../inference/engine-child.ts'
import { requireServable } from '../inference/engine-groups.ts'
import { type EngineLimits, Engines } from '../inference/engines.ts'
import { createHandler } from '../inference/handler.ts'
import { memoryReader } from '../inference/memory/read-memory.ts'
import { createModelControl, type ModelControl } from '../inference/model-control.ts'
import { SEEDS } from '../inference/openai/chat-order.ts'
import type { HttpRequest, HttpResponse } from '../inference/openai/http.ts'
import { type Pins, pinsFile } from '../inference/pins.ts'
import type { StepCounts } from '../inference/protocol.ts'
import { Tuner, type TunerOptions } from '../inference/tuning/tuner.ts'
import { placesOf, resolveWeights, type Weights, type WeightsPlaces } from '../inference/weights.ts'
import type { Service } from '../service.ts'

export interface InferenceService extends Service {
  reports(): EngineReport[]
  /**
   * Calls the listener after each change of an engine's state; the returned function removes it.
   */
  onChange(listener: () => void): () => void
  /** Process ids of the engines that run now. */
  pids(): number[]
  /** Batch statistics of each running engine. */
  counts(): StepCounts[]
  metrics(): Metric[]
  /** Ends the engines and starts them again, with other limits when they are given. */
  restart(limits?: EngineLimits): Promise<void>
  /** Sets the source of GPU memory readings; before this call the memory is unknown. */
  watchGpus(gpus: Pick<GpuSampler, 'sample'>): void
  models: ModelControl
  /** Serves the models that operators added at the coordinator beside the configured ones. */
  setRegistered(models: RegisteredModels | undefined): Promise<void>
  /** Answers one request of the link or of a listener on loopback. */
  handle(request: HttpRequest, response: HttpResponse): void
}

/** Serves the models of the catalogue, each in a separate engine process, over the OpenAI API. */
export const inferenceService = ({
  catalogue: configured,
  registered,
  config,
  stateDir,
  logger,
  tuning,
}: {
  /** Models of the cell's own file. */
  catalogue: Catalogue
  /** Models that operators had added at the coordinator when the daemon ended. */
  registered?: RegisteredModels | undefined
  config: InferenceConfig
  /** State folder of the daemon, with downloads and pinned models. */
  stateDir: string
  logger: Logger
  /** Absent: nothing is measured. */
  tuning?: TunerOptions
}): InferenceService => {
  let gpus: Pick<GpuSampler, 'sample'> = noneSeen
  const places = placesOf(config, stateDir)
  // one list for the life of the process, which `setRegistered` changes
  let ownIds: ReadonlySet<string> = new Set()
  const extend = (added: RegisteredModels | undefined, present: Catalogue) => {
    ownIds = findOwnIds(configured, added, logger)
    return servableCatalogue({ configured, added, present, places, logger })
  }
  const catalogue = extend(registered, configured)
  const folder = modelFolder({ configured, catalogue, config, places })
  folder.setStopped(registered?.downloads === 'off')
  const shared = { clock: systemClock, spawn: engineSpawner(logger), logger }
  const tuner = tuning && new Tuner(tuning, { ...shared, now: Date.now })
  const engines = new Engines(catalogue, config, {
    ...shared,
    tuner,
    places,
    fetch: (...order) => folder.fetch(...order),
    readMemory: memoryReader(() => readSample(gpus)),
  })
  const pins = pinsFile(stateDir)
  const models = createModelControl({ engines, pins, clock: systemClock })
  const handle = createHandler({
    engines,
    catalogue,
    logger,
    now: Date.now,
    newId: randomId,
    newSeed: () => randomInt(SEEDS),
    repeat: everySeconds(config.keepalive_seconds),
  })
  return {
    name: 'inference',
    reports: () => engines.reports().map(report => markOwnModels(report, ownIds)),
    onChange: listener => engines.onChange(listener),
    pids: () => engines.pids(),
    counts: () => engines.counts(),
    metrics: () => engines.metrics(),
    restart: limits => engines.restart(limits),
    watchGpus: sampler => {
      gpus = sampler
    },
    models,
    setRegistered: async wanted => {
      folder.setStopped(wanted?.downloads === 'off')
      const ownBefore = ownIds
      const next = extend(wanted, catalogue)
      if (wanted?.downloads !== 'off') engines.resumeDownloads()
      if (isDeepStrictEqual(next, catalogue)) {
        if (!isDeepStrictEqual(ownIds, ownBefore)) engines.notify()
        return
      }
      engines.setCatalogue(next)
      catalogue.splice(0, catalogue.length, ...next)
      await models
        .forgetPins(new Set(next.map(({ id }) => id)))
        .catch(error => logger.error({ err: error }, 'pins of removed models are kept'))
    },
    handle,
    start: async ({ signal, fail }) => {
      engines.pin(await readPins(pins, logger))
      // Usable at once: requests wait for their model.
      engines.start(signal).then(() => {
        if (!signal.aborted) tellOutcome(engines.reports(), logger)
      }, fail)
    },
  }
}

/** A cell whose pins are not known serves all the same. */
const readPins = async (
  pins: Pick<Pins, 'read'>,
  logger: Pick<Logger, 'error'>,
): Promise<ReadonlySet<string>> => {
  try {
    return await pins.read()
  } catch (error) {
    logger.error({ err: error }, 'no model counts as pinned')
    return new Set()
  }
}

/** Logs the outcome once nothing more is loaded automatically. */
export const tellOutcome = (
  reports: readonly EngineReport[],
  logger: Pick<Logger, 'info' | 'warn'>,
): void => {
  const listInState = (wanted: EngineReport['state']) =>
    reports.filter(({ state }) => state === wanted).map(({ weights }) => weights)
  const [ready, failed] = [listInState('ready'), listInState('failed')]
  const counts = { ready: ready.length, failed, of: reports.length }
  if (failed.length > 0) logger.warn(counts, 'not all models are loaded')
  else if (ready.length === reports.length) logger.info(counts, 'models are loaded')
  else logger.info(counts, 'models are loaded on their first request')
}

/** Source of GPU readings before the sampler is known. */
const noneSeen: Pick<GpuSampler, 'sample'> = { sample: () => ({ gpus: [] }) }

/** Latest reading; undefined while the sampler waits for its driver. */
const readSample = (sampler: Pick<GpuSampler, 'sample'>) => {
  const reading = sampler.sample()
  return reading.gpus.length > 0 || sampler === noGpus ? reading : undefined
}

interface CatalogueParts {
  configured: Catalogue
  added: RegisteredModels | undefined
  /** The catalogue that is served now. */
  present: Catalogue
  places: WeightsPlaces
  logger: Pick<Logger, 'error' | 'warn'>
}

/**
 * The configured catalogue with the added models that this cell knows how to find. A cell that
 * cannot serve so many goes on as it is: it must not fail over what was added elsewhere.
 */
const servableCatalogue = ({
  configured,
  added,
  present,
  places,
  logger,
}: CatalogueParts): Catalogue => {
  const extended = extendCatalogue(configured, withoutOwnIds(configured, added)).filter(entry => {
    try {
      return resolveWeights(entry, places)
    } catch (error) {
      logger.error({ reason: (error as Error).message }, 'a model is not served')
      return false
    }
  })
  try {
    requireServable(extended, places)
    return extended
  } catch (error) {
    const reason = (error as Error).message
    logger.error({ reason }, 'models that were added at the coordinator are not applied')
    return [...present]
  }
}

/** Models that the cell's owner has configured; a cell without a catalogue has the bundled ones. */
const listOwn = (configured: Catalogue): Catalogue =>
  configured.filter(entry => weightsLabel(entry) === undefined)

/**
 * The added models without those whose id the cell's own configuration has: an operator of the
 * fleet does not replace a file that the owner of a cell has chosen. The bundled demonstrations give
 * way.
 */
const withoutOwnIds = (
  configured: Catalogue,
  added: RegisteredModels | undefined,
): RegisteredModels | undefined => {
  if (added === undefined) return undefined
  const own = new Set(listOwn(configured).map(({ id }) => id))
  const isFree = ({ id }: { id: string }): boolean => !own.has(id)
  return { entries: added.entries.filter(isFree), aliases: added.aliases.filter(isFree) }
}

/** Ids of added models and aliases to which the cell's own configuration gives other weights. */
const findOwnIds = (
  configured: Catalogue,
  added: RegisteredModels | undefined,
  logger: Pick<Logger, 'warn'>,
): ReadonlySet<string> => {
  const weights = new Map(added?.entries.map(entry => [entry.id, entry.weights]))
  const ids = new Set([...weights.keys(), ...(added?.aliases.map(({ id }) => id) ?? [])])
  const own = listOwn(configured).filter(
    entry => ids.has(entry.id) && weights.get(entry.id) !== entry.weights,
  )
  for (const { id } of own)
    logger.warn({ model: id }, "the cell's own model is served, not the added one of the same id")
  return new Set(own.map(({ id }) => id))
}

const markOwnModels = (report: EngineReport, ownIds: ReadonlySet<string>): EngineReport => {
  const own_models = report.models.filter(id => ownIds.has(id))
  return own_models.length === 0 ? report : { ...report, own_models }
}

interface FolderParts {
  configured: Catalogue
  catalogue: Catalogue
  config: InferenceConfig
  places: WeightsPlaces
}

const modelFolder = ({ configured, catalogue, config, places }: FolderParts): ModelFolder => {
  const find = (entries: Catalogue) => entries.map(entry => resolveWeights(entry, places))
  // an added model can have the checksum of an own one, and with it the file, but another address
  const nameOf = ({ file, url }: Weights) => `${file} ${url?.href}`
  const own = new Set(find(configured).map(nameOf))
  return new ModelFolder({
    folder: places.modelsDir,
    maxBytes: config.models_max_bytes,
    stallSeconds: config.download_stall_seconds,
    listWanted: () => new Set(find([...configured, ...catalogue]).map(({ file }) => file)),
    isOwn: weights => own.has(nameOf(weights)),
    allowed: config.download_allow.flatMap(text => parseAllowed(text) ?? []),
    hubTokenFile: config.hub_token_file,
    clock: systemClock,
  })
}

const everySeconds =
  (seconds: number) =>
  (run: () => void): (() => void) => {
    const timer = setInterval(run, seconds * 1000)
    return () => clearInterval(timer)
  }
