/* The rules by which `promtool check metrics` judges an exposition (promlint of client_golang), for
   machines without it. */

interface Family {
  name: string
  type: string
  help: string
  /** Names and labels of the lines. */
  samples: { name: string; labels: string[] }[]
}

const UNITS =
  /(^|_)(milliseconds?|ms|minutes?|hours?|days?|kilobytes?|kb|megabytes?|mb|gb|kelvin|grams?|volts?_ms)(_|$)/
const ABBREVIATIONS = /_(s|ms|us|ns|sec|b|kb|mb|gb|tb|pb|m|h|d)(_total)?$/
const TYPES = ['counter', 'gauge', 'histogram', 'summary', 'untyped']
const RESERVED = /_(bucket|count|sum)$/

/** Problems of an exposition, each with the name of its metric. */
export const lintMetrics = (text: string): string[] => [
  ...listFamilies(text).flatMap(family => lintFamily(family).map(each => `${family.name} ${each}`)),
  ...findDuplicates(text),
]

const listFamilies = (text: string): Family[] => {
  const families = new Map<string, Family>()
  const familyOf = (name: string): Family => {
    const family = families.get(name) ?? { name, type: 'untyped', help: '', samples: [] }
    families.set(name, family)
    return family
  }
  for (const line of text.split('\n')) {
    const [, kind, name = '', rest = ''] = /^# (HELP|TYPE) (\S+) ?(.*)$/.exec(line) ?? []
    if (kind === 'HELP') familyOf(name).help = rest
    if (kind === 'TYPE') familyOf(name).type = rest
    const [, sample, labels = ''] = /^([^#\s{]+)(?:\{(.*)\})? \S+$/.exec(line) ?? []
    if (sample === undefined) continue
    const base = sample.replace(RESERVED, '')
    const family = families.get(sample) ?? families.get(base) ?? familyOf(sample)
    family.samples.push({
      name: sample,
      labels: [...labels.matchAll(/([^=,"]+)="(?:[^"\\]|\\.)*"/g)].map(([, label = '']) => label),
    })
  }
  return [...families.values()]
}

const lintFamily = ({ name, type, help, samples }: Family): string[] => {
  const labels = samples.flatMap(sample => sample.labels)
  const isDistribution = type === 'histogram' || type === 'summary'
  return [
    help === '' && 'no help text',
    UNITS.test(name) && 'use base units in the name',
    ABBREVIATIONS.test(name) && 'metric names should not contain abbreviated units',
    type === 'counter' && !name.endsWith('_total') && 'counters should have the suffix _total',
    type !== 'counter' && name.endsWith('_total') && 'only counters should have the suffix _total',
    !isDistribution && RESERVED.test(name) && 'the suffix belongs to histograms and summaries',
    type !== 'histogram' && labels.includes('le') && 'the label le belongs to histograms',
    type !== 'summary' && labels.includes('quantile') && 'the label quantile belongs to summaries',
    TYPES.some(each => name.split('_').includes(each)) && 'the name should not contain the type',
    name.includes(':') && 'the name should not contain a colon',
    [name, ...labels].some(each => /[a-z][A-Z]/.test(each)) && 'names should be in snake case',
  ].filter(problem => typeof problem === 'string')
}

const findDuplicates = (text: string): string[] => {
  const series = text.split('\n').flatMap(line => /^([^#\s].*) \S+$/.exec(line)?.[1] ?? [])
  return series
    .filter((one, at) => series.indexOf(one) !== at)
    .map(one => `${one} occurs more than once`)
}
