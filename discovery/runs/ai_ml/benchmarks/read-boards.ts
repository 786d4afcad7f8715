import * as z from 'zod'
import { readUtcTime } from '../../../fields/utc-time.ts'
import type { BenchmarkBoard } from '../../../modules/ai_ml/ai-benchmarks.ts'

type Entry = BenchmarkBoard['entries'][number]

const MAX_ENTRIES = 25
/** A board with a larger value has percents; fractions end at 1, and bonus points reach a little over. */
const MAX_FRACTION = 1.5

const Row = z.object({
  rank: z.int().nullish(),
  modelId: z.string(),
  value: z.number(),
  verified: z.boolean().nullish(),
  notes: z.string().nullish(),
  source: z.object({ url: z.string().nullish() }).nullish(),
})

/** Leaderboard of a data set on the hub (https://huggingface.co/docs/hub/api). */
export const readLeaderboard = (name: string, body: unknown): BenchmarkBoard => {
  const rows = z
    .array(z.unknown())
    .parse(body)
    .flatMap(row => Row.safeParse(row).data ?? [])
  const unit = rows.some(({ value }) => value > MAX_FRACTION) ? 'percent' : 'fraction'
  return {
    id: name,
    name: name.split('/').at(-1) ?? name,
    url: `https://huggingface.co/datasets/${name}`,
    metric: 'score',
    unit,
    updated_at: null,
    entries: rows.slice(0, MAX_ENTRIES).map((row, at) => ({
      rank: row.rank ?? at + 1,
      model: row.modelId.slice(0, 256),
      provider: row.modelId.includes('/') ? (row.modelId.split('/')[0] ?? null) : null,
      value_raw: row.value,
      value_percent: toPercent(row.value, unit),
      verified: row.verified ?? false,
      notes: row.notes?.slice(0, 512) ?? null,
      source_url: row.source?.url?.slice(0, 2048) ?? null,
      cost_usd: null,
    })),
  }
}

const toPercent = (value: number, unit: BenchmarkBoard['unit']): number | null =>
  unit === 'percent' ? value : unit === 'fraction' ? Math.round(value * 10_000) / 100 : null

const AiderRow = z.object({
  model: z.string(),
  edit_format: z.string().nullish(),
  pass_rate_2: z.number(),
  total_cost: z.number().nullish(),
  date: z.unknown(),
})

/** Share of 225 exercises that pass after the second try, in percent. */
export const readAider = (body: unknown): BenchmarkBoard => {
  const rows = z
    .array(z.unknown())
    .parse(body)
    .flatMap(row => AiderRow.safeParse(row).data ?? [])
  const dates = rows.flatMap(({ date }) => readDate(date) ?? []).sort()
  const sorted = rows.toSorted((a, b) => b.pass_rate_2 - a.pass_rate_2).slice(0, MAX_ENTRIES)
  return {
    id: 'aider/polyglot',
    name: 'Aider polyglot',
    url: 'https://aider.chat/docs/leaderboards/',
    metric: 'exercises passed after two tries',
    unit: 'percent',
    updated_at: dates.at(-1) ?? null,
    entries: sorted.map(
      ({ model, edit_format, pass_rate_2, total_cost }, at): Entry => ({
        rank: at + 1,
        model: model.slice(0, 256),
        provider: null,
        value_raw: pass_rate_2,
        value_percent: pass_rate_2,
        verified: false,
        notes: edit_format ? `edit format: ${edit_format}`.slice(0, 512) : null,
        source_url: null,
        cost_usd: total_cost ?? null,
      }),
    ),
  }
}

/** YAML reads a plain date as text or as a date. */
const readDate = (date: unknown): string | null =>
  date instanceof Date ? date.toISOString() : typeof date === 'string' ? readUtcTime(date) : null

const IndexRow = z.object({
  name: z.string(),
  model_creator: z.object({ name: z.string().nullish() }).nullish(),
  evaluations: z.object({ artificial_analysis_intelligence_index: z.number().nullish() }).nullish(),
  pricing: z.object({ price_1m_blended_3_to_1: z.number().nullish() }).nullish(),
})

/** Index over several evaluations; it has no unit. */
export const readIndex = (body: unknown): BenchmarkBoard => {
  const { data } = z.object({ data: z.array(z.unknown()) }).parse(body)
  const rows = data
    .flatMap(row => IndexRow.safeParse(row).data ?? [])
    .flatMap(row => {
      const value = row.evaluations?.artificial_analysis_intelligence_index
      return value === null || value === undefined ? [] : [{ ...row, value }]
    })
    .sort((a, b) => b.value - a.value)
  return {
    id: 'artificial-analysis/intelligence-index',
    name: 'Artificial Analysis Intelligence Index',
    url: 'https://artificialanalysis.ai',
    metric: 'intelligence index',
    unit: 'index',
    updated_at: null,
    entries: rows.slice(0, MAX_ENTRIES).map(({ name, model_creator, pricing, value }, at) => ({
      rank: at + 1,
      model: name.slice(0, 256),
      provider: model_creator?.name?.slice(0, 256) ?? null,
      value_raw: value,
      value_percent: null,
      verified: true,
      notes: printPrice(pricing?.price_1m_blended_3_to_1),
      source_url: null,
      cost_usd: null,
    })),
  }
}

const printPrice = (price: number | null | undefined): string | null =>
  price === null || price === undefined ? null : `${price} USD per million tokens, blended 3 to 1`
