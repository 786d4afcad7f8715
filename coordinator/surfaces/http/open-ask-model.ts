import type { Catalogue } from '../../../shared/catalogue.ts'
import type { TierSettings } from '../../access/quota/tiers.ts'
import type { CascadeConfig } from '../../gateway/cascade/cascade-steps.ts'
import type { RoutingConfig } from '../../gateway/dispatch/routing-config.ts'
import type { EmbeddingViews } from '../../insight/knowledge/embeddings.ts'
import type { Base } from '../../kernel/base/base.ts'
import { createEmbeddings } from './ask-embeddings.ts'
import { type AskModel, createAskModel } from './ask-model.ts'
import { Inference, type InferenceParts } from './inference.ts'

interface AskModelParts
  extends Pick<Base, 'logger' | 'now' | 'runtime'>,
    Pick<InferenceParts, 'answerMemory' | 'lanes' | 'fleet' | 'quota' | 'usage' | 'running'> {
  config: { tiers: TierSettings; cascade: CascadeConfig; routing: RoutingConfig }
  catalogue: Catalogue
  keys: { hold: InferenceParts['hold'] }
  metrics: { inference: InferenceParts['metrics'] }
}

interface OpenAskModel {
  askModel: AskModel
  views: EmbeddingViews
}

/** Asks models inside the process as the inference routes do, with the limits of a key. */
export const openAskModel = (parts: AskModelParts): OpenAskModel => {
  const { config, keys, metrics, answerMemory, lanes, fleet } = parts
  const { catalogue, quota, usage, running, logger, now, runtime } = parts
  const { tiers, cascade, routing } = config
  const inference = new Inference({
    catalogue,
    tiers,
    cascade,
    fleet,
    lanes,
    affinityPrefixChars: routing.affinity_prefix_chars,
    quota,
    answerMemory,
    usage,
    running,
    metrics: metrics.inference,
    hold: keys.hold?.bind(keys),
    logger,
    now,
    runtime,
    // they stay inside: the limits of the key are in the answer to the whole message
    answerHeaders: () => ({}),
  })
  const embeddings = createEmbeddings({ inference, fleet, catalogue })
  return { askModel: createAskModel(inference), views: { embeddings } }
}
