import type { PULL_TASKS } from '../../../modules/ai_ml/runtime-pull-recommend.ts'
import type { ModelShape } from './estimate-memory.ts'

/** An open model that runtimes can pull. */
export interface CatalogueModel extends ModelShape {
  name: string
  /** Name at the registry of Ollama, without the quantization. */
  tag: string
  tasks: readonly (typeof PULL_TASKS)[number][]
  contextMax: number
  /** SPDX id, or the name of the vendor's own licence. */
  licence: string
}

export const CATALOGUE_VERSION = '2026.11'

/**
 * Shapes are those of the configuration files of the models on the Hugging Face Hub
 * (`num_hidden_layers`, `num_key_value_heads`, `head_dim`, `max_position_embeddings`).
 */
export const CATALOGUE: readonly CatalogueModel[] = [
  {
    name: 'Llama 3.2 1B Instruct',
    tag: 'llama3.2:1b',
    tasks: ['general', 'chat'],
    parameters: 1_235_814_400,
    layers: 16,
    kvHeads: 8,
    headDim: 64,
    contextMax: 131_072,
    licence: 'llama3.2',
  },
  {
    name: 'Llama 3.2 3B Instruct',
    tag: 'llama3.2:3b',
    tasks: ['general', 'chat'],
    parameters: 3_212_749_824,
    layers: 28,
    kvHeads: 8,
    headDim: 128,
    contextMax: 131_072,
    licence: 'llama3.2',
  },
  {
    name: 'Llama 3.1 8B Instruct',
    tag: 'llama3.1:8b',
    tasks: ['general', 'chat'],
    parameters: 8_030_261_248,
    layers: 32,
    kvHeads: 8,
    headDim: 128,
    contextMax: 131_072,
    licence: 'llama3.1',
  },
  {
    name: 'Llama 3.3 70B Instruct',
    tag: 'llama3.3:70b',
    tasks: ['general', 'chat', 'reasoning'],
    parameters: 70_553_706_496,
    layers: 80,
    kvHeads: 8,
    headDim: 128,
    contextMax: 131_072,
    licence: 'llama3.3',
  },
  {
    name: 'Qwen 2.5 7B Instruct',
    tag: 'qwen2.5:7b',
    tasks: ['general', 'chat'],
    parameters: 7_615_616_512,
    layers: 28,
    kvHeads: 4,
    headDim: 128,
    contextMax: 32_768,
    licence: 'Apache-2.0',
  },
  {
    name: 'Qwen 2.5 14B Instruct',
    tag: 'qwen2.5:14b',
    tasks: ['general', 'chat'],
    parameters: 14_770_033_664,
    layers: 48,
    kvHeads: 8,
    headDim: 128,
    contextMax: 32_768,
    licence: 'Apache-2.0',
  },
  {
    name: 'Qwen 2.5 32B Instruct',
    tag: 'qwen2.5:32b',
    tasks: ['general', 'chat', 'reasoning'],
    parameters: 32_763_876_352,
    layers: 64,
    kvHeads: 8,
    headDim: 128,
    contextMax: 32_768,
    licence: 'Apache-2.0',
  },
  {
    name: 'Qwen 2.5 Coder 7B Instruct',
    tag: 'qwen2.5-coder:7b',
    tasks: ['code'],
    parameters: 7_615_616_512,
    layers: 28,
    kvHeads: 4,
    headDim: 128,
    contextMax: 32_768,
    licence: 'Apache-2.0',
  },
  {
    name: 'Qwen 2.5 Coder 14B Instruct',
    tag: 'qwen2.5-coder:14b',
    tasks: ['code'],
    parameters: 14_770_033_664,
    layers: 48,
    kvHeads: 8,
    headDim: 128,
    contextMax: 32_768,
    licence: 'Apache-2.0',
  },
  {
    name: 'Qwen 2.5 Coder 32B Instruct',
    tag: 'qwen2.5-coder:32b',
    tasks: ['code'],
    parameters: 32_763_876_352,
    layers: 64,
    kvHeads: 8,
    headDim: 128,
    contextMax: 32_768,
    licence: 'Apache-2.0',
  },
  {
    name: 'Mistral 7B Instruct v0.3',
    tag: 'mistral:7b',
    tasks: ['general', 'chat'],
    parameters: 7_248_023_552,
    layers: 32,
    kvHeads: 8,
    headDim: 128,
    contextMax: 32_768,
    licence: 'Apache-2.0',
  },
  {
    name: 'DeepSeek R1 Distill Llama 8B',
    tag: 'deepseek-r1:8b-llama-distill',
    tasks: ['reasoning'],
    parameters: 8_030_261_248,
    layers: 32,
    kvHeads: 8,
    headDim: 128,
    contextMax: 131_072,
    licence: 'MIT',
  },
  {
    name: 'Qwen 2.5 VL 7B Instruct',
    tag: 'qwen2.5vl:7b',
    tasks: ['vision'],
    parameters: 8_292_166_656,
    layers: 28,
    kvHeads: 4,
    headDim: 128,
    contextMax: 128_000,
    licence: 'Apache-2.0',
  },
  {
    name: 'Nomic Embed Text v1.5',
    tag: 'nomic-embed-text:v1.5',
    tasks: ['embedding'],
    parameters: 136_731_648,
    layers: 12,
    kvHeads: 12,
    headDim: 64,
    contextMax: 8192,
    licence: 'Apache-2.0',
  },
]
