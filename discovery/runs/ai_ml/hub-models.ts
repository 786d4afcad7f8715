import * as z from 'zod'
import { readUtcTime } from '../../fields/utc-time.ts'
import type { LookupRun } from '../../lookup-run.ts'
import type { HubModels } from '../../modules/ai_ml/hub-models.ts'
import hf from '../../upstreams/sources/hf.ts'
import { readAnswer } from '../../upstreams/try-sources.ts'

interface Input {
  limit?: number
  task?: string
}

type HubModel = HubModels['models'][number]

/** Words of shoal for tasks, in those of the hub (https://huggingface.co/tasks). */
const TASKS: Readonly<Record<string, { tag: string; filter?: string }>> = {
  chat: { tag: 'text-generation', filter: 'conversational' },
  general: { tag: 'text-generation' },
  code: { tag: 'text-generation', filter: 'code' },
  embedding: { tag: 'feature-extraction' },
  vision: { tag: 'image-text-to-text' },
  speech: { tag: 'automatic-speech-recognition' },
}

/** Fields that the hub leaves out unless they are named. */
export const HUB_FIELDS = [
  ...['downloads', 'likes', 'lastModified', 'createdAt', 'gated', 'tags', 'pipeline_tag'],
  ...['library_name', 'safetensors', 'gguf', 'trendingScore'],
]

const listModels: LookupRun<Input, HubModels> = async ({ limit = 20, task }, context) => {
  const { tag, filter } = task === undefined ? { tag: undefined } : (TASKS[task] ?? { tag: task })
  const { body } = await context.ask({
    source: hf,
    path: '/api/models',
    query: { pipeline_tag: tag, filter, sort: 'trendingScore', limit, expand: HUB_FIELDS },
    form: 'json',
  })
  const { models, unread } = readHubModels(body)
  if (unread > 0) context.warn('unparsed_record', `${unread} models could not be read`, hf.name)
  return {
    task: task ?? null,
    pipeline_tag: tag ?? null,
    total_returned: models.length,
    models: models.slice(0, limit),
  }
}
export default listModels

/** Models of a list of the hub, and how many could not be read. @throws UpstreamError */
export const readHubModels = (body: unknown): { models: HubModel[]; unread: number } => {
  const rows = readAnswer(hf, () => z.array(z.unknown()).parse(body))
  const models = rows.flatMap(row => Row.safeParse(row).data ?? []).map(toModel)
  return { models, unread: rows.length - models.length }
}

const Count = z.int().nonnegative()

const Row = z.object({
  id: z.string(),
  author: z.string().nullish(),
  gated: z.union([z.boolean(), z.string()]).nullish(),
  downloads: Count.nullish(),
  likes: Count.nullish(),
  trendingScore: z.number().nullish(),
  lastModified: z.string().nullish(),
  createdAt: z.string().nullish(),
  pipeline_tag: z.string().nullish(),
  library_name: z.string().nullish(),
  tags: z.array(z.string()).nullish(),
  gguf: z.object({ total: Count.nullish(), context_length: Count.nullish() }).nullish(),
  safetensors: z.object({ total: Count.nullish() }).nullish(),
})
type Row = z.infer<typeof Row>

const FORMATS = ['gguf', 'safetensors', 'onnx', 'mlx'] as const

const toModel = (row: Row): HubModel => {
  const { id, gguf, safetensors, library_name: library } = row
  const [owner = '', name = id] = id.includes('/') ? id.split('/') : ['', id]
  const tags = row.tags ?? []
  const findTag = (prefix: string): string | null =>
    tags.find(tag => tag.startsWith(prefix))?.slice(prefix.length, prefix.length + 64) ?? null
  const gated = String(row.gated ?? false)
  return {
    id: id.slice(0, 256),
    author: (row.author ?? owner).slice(0, 256),
    name: name.slice(0, 256),
    task: row.pipeline_tag?.slice(0, 64) ?? null,
    library: library?.slice(0, 64) ?? null,
    licence: findTag('license:'),
    gated: gated === 'false' ? 'no' : gated === 'manual' ? 'manual' : 'auto',
    downloads_30d: row.downloads ?? 0,
    likes: row.likes ?? 0,
    trending_score: row.trendingScore ?? null,
    parameters: safetensors?.total ?? gguf?.total ?? null,
    context_length: gguf?.context_length ?? null,
    formats: FORMATS.filter(
      format => tags.includes(format) || (format === 'gguf' && Boolean(gguf)),
    ),
    base_model: findBase(tags),
    created_at: readUtcTime(row.createdAt),
    updated_at: readUtcTime(row.lastModified),
    url: `https://huggingface.co/${id}`.slice(0, 512),
  }
}

/** `base_model:owner/name`, and `base_model:quantized:owner/name`, which says how. */
const findBase = (tags: readonly string[]): string | null => {
  const [base] = tags.flatMap(tag => /^base_model:(?:\w+:)?(.+)$/.exec(tag)?.[1] ?? [])
  return base?.slice(0, 256) ?? null
}
