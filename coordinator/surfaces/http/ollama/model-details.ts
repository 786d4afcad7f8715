import type { CatalogueEntry } from '../../../../shared/catalogue.ts'
import type { ModelFacts } from '../../../../shared/wire/model-facts.ts'
import type { Details, Shown } from './docs.ts'

/** Empty texts while no cell of the tenant can read the file. */
export const detailsOf = (facts: ModelFacts | undefined): Details => ({
  parent_model: '',
  format: 'gguf',
  family: facts?.architecture ?? '',
  families: facts === undefined ? [] : [facts.architecture],
  parameter_size: sizeOf(facts?.parameters ?? 0),
  quantization_level: facts?.quantization ?? '',
})

const UNITS = [
  [1e9, 'B'],
  [1e6, 'M'],
  [1e3, 'K'],
] as const

/** A number of parameters as people write it: `7.6B`, `137M`; empty for 0. */
const sizeOf = (parameters: number): string => {
  const [unit, letter] = UNITS.find(([least]) => parameters >= least) ?? [1, '']
  if (parameters === 0) return ''
  const count = parameters / unit
  return `${count.toFixed(count < 100 ? 1 : 0)}${letter}`
}

/**
 * Keys of GGUF headers.
 * @param context_length tokens that a request may have here, which the file may exceed
 */
export const modelInfo = (
  { id }: Pick<CatalogueEntry, 'id'>,
  context_length: number,
  facts: ModelFacts | undefined,
): Shown['model_info'] => {
  const common = { 'general.basename': id }
  if (facts === undefined)
    return {
      ...common,
      'general.architecture': 'shoal',
      'shoal.context_length': context_length,
    }
  const { architecture, parameters, name } = facts
  return {
    ...common,
    'general.architecture': architecture,
    ...(name !== null && { 'general.name': name }),
    ...(parameters !== null && { 'general.parameter_count': parameters }),
    [`${architecture}.context_length`]: Math.min(context_length, facts.context_length),
    [`${architecture}.embedding_length`]: facts.embedding_length,
    [`${architecture}.block_count`]: facts.layers,
  }
}
