import type { LookupRun } from '../../lookup-run.ts'
import type { PullRecommendation } from '../../modules/ai_ml/runtime-pull-recommend.ts'
import { CATALOGUE, CATALOGUE_VERSION, type CatalogueModel } from './sizing/catalogue.ts'
import {
  BITS_PER_WEIGHT,
  estimateMemory,
  type Quantization,
  usableBytes,
} from './sizing/estimate-memory.ts'

type Recommendation = PullRecommendation['recommendations'][number]

interface Input {
  task: PullRecommendation['task']
  vram_gb: number
}

/** Context of a request that is planned for, unless the model has less. */
const CONTEXT = 8192
const MAX_RECOMMENDATIONS = 10
/** Worst quantization that is worth it; below, a smaller model answers better. */
const WORST: Quantization = 'IQ3_M'

const recommendModels: LookupRun<Input, PullRecommendation> = async ({ task, vram_gb }) => {
  const usable = usableBytes(vram_gb)
  const candidates = CATALOGUE.filter(({ tasks }) => tasks.includes(task)).map(model =>
    chooseQuantization(model, usable),
  )
  const ranked = candidates.toSorted(compare).slice(0, MAX_RECOMMENDATIONS)
  return {
    task,
    vram_gb,
    usable_bytes: usable,
    recommendations: ranked.map((each, at) => ({ ...each, rank: at + 1 })),
    catalogue_version: CATALOGUE_VERSION,
  }
}
export default recommendModels

const QUANTIZATIONS = (Object.keys(BITS_PER_WEIGHT) as Quantization[]).filter(
  name => BITS_PER_WEIGHT[name] >= BITS_PER_WEIGHT[WORST],
)

/** The best quantization that fits, else the common one with layers on the CPU. */
const chooseQuantization = (model: CatalogueModel, usable: number): Recommendation => {
  const context = Math.min(CONTEXT, model.contextMax)
  const fitting = QUANTIZATIONS.find(
    name => estimateMemory(model, name, context).totalBytes <= usable,
  )
  return toRecommendation(model, fitting ?? 'Q4_K_M', context, usable)
}

const toRecommendation = (
  model: CatalogueModel,
  quantization: Quantization,
  context: number,
  usable: number,
): Recommendation => {
  const { weightsBytes, kvCacheBytes, overheadBytes, totalBytes } = estimateMemory(
    model,
    quantization,
    context,
  )
  const fits = totalBytes <= usable
  const missing = Math.max(0, totalBytes - usable)
  const offload = Math.min(100, Math.ceil((missing / (weightsBytes + kvCacheBytes)) * 100))
  return {
    rank: 0,
    model: model.name,
    runtime_tag: model.tag,
    pull_command: `ollama pull ${model.tag}`,
    quantization,
    parameters: model.parameters,
    weights_bytes: weightsBytes,
    kv_cache_bytes: kvCacheBytes,
    overhead_bytes: overheadBytes,
    total_bytes: totalBytes,
    context_length: context,
    fits,
    cpu_offload_percent: fits ? 0 : offload,
    headroom_bytes: usable - totalBytes,
    licence: model.licence,
    reason: fits
      ? `${quantization} fits with a context of ${context} tokens`
      : `about ${offload} percent must run on the CPU, which is slow`,
  }
}

/** What fits comes first, the largest model before others; of what does not, the least offload. */
const compare = (a: Recommendation, b: Recommendation): number => {
  if (a.fits !== b.fits) return a.fits ? -1 : 1
  if (!a.fits) return a.cpu_offload_percent - b.cpu_offload_percent
  return b.parameters - a.parameters
}
