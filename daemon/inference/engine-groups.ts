import { availableParallelism } from 'node:os'
import type { Catalogue, CatalogueEntry } from '../../shared/catalogue.ts'
import { ShoalError } from '../../shared/errors.ts'
import type { InferenceConfig } from './config.ts'
import type { EngineOptions } from './engine-options.ts'
import { gpuMayBePresent } from './gpu-present.ts'
import { resolveWeights, type WeightsPlaces } from './weights.ts'

/** Maximum number of engines in a cell's report, and of ids per engine. */
export const MAX_ENGINES = 256

/** @throws ShoalError config_invalid for a catalogue that a cell cannot serve */
export const requireServable = (catalogue: Catalogue, places: WeightsPlaces): void => {
  groupByWeights(catalogue, places)
}

export const groupByWeights = (catalogue: Catalogue, places: WeightsPlaces): CatalogueEntry[][] => {
  const groups = [
    ...Map.groupBy(
      catalogue,
      entry => `${entry.kind} ${resolveWeights(entry, places).file}`,
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

const createCatalogueError = (why: string): ShoalError =>
  new ShoalError('config_invalid', `catalogue: ${why}`)

/** Number of slots where nothing is measured. */
const DEFAULT_SLOTS = 8

const isSet = (value: number | 'auto' | undefined): value is number => typeof value === 'number'

export const engineOptions = (
  entries: readonly CatalogueEntry[],
  config: InferenceConfig,
  places: WeightsPlaces,
): EngineOptions => {
  const first = entries[0] as CatalogueEntry
  const chatSlots = isSet(config.slots) ? config.slots : DEFAULT_SLOTS
  const slots = first.kind === 'chat' ? chatSlots : config.embedding_slots
  return {
    weights: resolveWeights(first, places),
    kind: first.kind,
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
    gpu: config.gpu === 'auto' && gpuMayBePresent() ? 'auto' : 'off',
    loadTimeoutSeconds: config.load_timeout_seconds,
    watchdogSeconds: config.watchdog_seconds,
    idleUnloadMinutes: config.idle_unload_minutes,
  }
}
