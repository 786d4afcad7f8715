import { realpathSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import type { Catalogue, CatalogueEntry } from '../../shared/catalogue.ts'
import { ShoalError } from '../../shared/errors.ts'
import type { InferenceConfig } from './config.ts'
import type { EngineOptions } from './engine-options.ts'
import { gpuMayBePresent } from './gpu-present.ts'
import { resolveWeights, type Weights, type WeightsPlaces } from './weights.ts'

/** Maximum number of engines in a cell's report, and of ids per engine. */
export const MAX_ENGINES = 256

/** @throws ShoalError config_invalid for a catalogue that a cell cannot serve */
export const requireServable = (catalogue: Catalogue, places: WeightsPlaces): void => {
  groupByWeights(catalogue, places)
}

/**
 * Entries of the same kind and file, which share an engine.
 *
 * @throws ShoalError config_invalid for a catalogue that a cell cannot serve
 */
export const groupByWeights = (catalogue: Catalogue, places: WeightsPlaces): CatalogueEntry[][] => {
  const groups = [
    ...Map.groupBy(
      catalogue,
      entry => `${entry.kind} ${realFile(resolveWeights(entry, places))}`,
    ).values(),
  ]
  const largest = Math.max(0, ...groups.map(({ length }) => length))
  if (groups.length > MAX_ENGINES)
    throw createCatalogueError(
      `it names ${groups.length} different weights; a cell serves at most ${MAX_ENGINES}`,
    )
  if (largest > MAX_ENGINES)
    throw createCatalogueError(
      `${largest} of its ids have the same weights; at most ${MAX_ENGINES} may`,
    )
  return groups
}

/** The file behind links; the path itself while there is no file. */
const realFile = ({ file }: Weights): string => {
  try {
    return realpathSync(file)
  } catch {
    return file
  }
}

const createCatalogueError = (why: string): ShoalError =>
  new ShoalError('config_invalid', `catalogue: ${why}`)

/** Number of slots where nothing is measured. */
const DEFAULT_SLOTS = 8

const isSet = (value: number | 'auto' | undefined): value is number => typeof value === 'number'

/**
 * Options of an engine for these entries. There are several where the entries name the same weights
 * by different paths or addresses; a new engine takes the first.
 */
export const listEngineOptions = (
  entries: readonly CatalogueEntry[],
  config: InferenceConfig,
  places: WeightsPlaces,
): [EngineOptions, ...EngineOptions[]] => {
  const { kind } = entries[0] as CatalogueEntry
  const chatSlots = isSet(config.slots) ? config.slots : DEFAULT_SLOTS
  const slots = kind === 'chat' ? chatSlots : config.embedding_slots
  const options = {
    kind,
    models: entries.map(entry => entry.id),
    contextLength: Math.max(...entries.map(entry => entry.context_length)),
    limits: {
      slots,
      queue: Math.ceil(slots * config.queue_factor),
      queueBytes: config.queue_prompt_bytes,
      queueTimeoutSeconds: config.queue_timeout_seconds,
    },
    threads: isSet(config.threads) ? config.threads : Math.max(1, availableParallelism() - 1),
    auto: { slots: !isSet(config.slots), threads: !isSet(config.threads) },
    gpu: config.gpu === 'auto' && gpuMayBePresent() ? ('auto' as const) : ('off' as const),
    loadTimeoutSeconds: config.load_timeout_seconds,
    watchdogSeconds: config.watchdog_seconds,
    idleUnloadMinutes: config.idle_unload_minutes,
  }
  const [first, ...others] = listWeights(entries, places)
  return [{ ...options, weights: first }, ...others.map(weights => ({ ...options, weights }))]
}

/** The weights that the entries name; those with a checksum if any has one, so that it is verified. */
const listWeights = (
  entries: readonly CatalogueEntry[],
  places: WeightsPlaces,
): [Weights, ...Weights[]] => {
  const all = entries.map(entry => resolveWeights(entry, places))
  const sha256 = all.find(weights => weights.sha256 !== undefined)?.sha256
  return all.filter(weights => weights.sha256 === sha256) as [Weights, ...Weights[]]
}
