type Row = Record<string, unknown>

/** Columns that come first; the other ones follow in the order of the answer. */
const FIRST = [
  'name',
  'op',
  'verdict',
  'observed',
  'requires',
  'limit',
  'source',
  'warning',
  'cell_id',
]

/** Names that cannot pass for a path, or for several columns. */
const PLAIN_NAME = /^[\w:@/-]+( [\w:@/-]+)*$/
/** Text that looks like columns, no value, quoted text, or a value that is no text. */
const DOUBTFUL_TEXT = / {2}|^ | $|^-?$|^"|^(-?\d[\d.eE+-]*|true|false|null)$/
/** Timestamps are shortened to the second elsewhere. */
const EXACT_TIME = /T\d\d:\d\d:\d\d\.\d{3}Z$/

/**
 * Copies a plan for tables: ordered columns, names beside device ids, and everything as exact as
 * `showExactly` has it. No member is left out.
 */
export const arrangePlan = (plan: Row): unknown => arrangeWith(plan, namesOf(plan))

/** Arranges something that belongs to a plan, with the names in that plan. */
export const arrangeWith = (value: unknown, names: ReadonlyMap<unknown, unknown>): unknown => {
  if (Array.isArray(value)) return value.map(each => arrangeItem(each, names))
  if (!isRow(value)) return showExactly(value)
  const name = value.name ?? names.get(value.device_id)
  const row = name === undefined ? value : { name, ...value }
  return Object.fromEntries(
    [...FIRST.filter(key => key in row), ...Object.keys(row).filter(key => !FIRST.includes(key))]
      .map(key => [key, row[key]] as const)
      .map(([key, inner]) => [quoteName(key), arrangeWith(inner, names)]),
  )
}

/** Numbers unrounded, and names and text in quotes where they could pass for something else. */
export const showExactly = (value: unknown): unknown => {
  if (Array.isArray(value))
    return value.map(each => (typeof each === 'string' ? quoteItem(each) : showExactly(each)))
  if (isRow(value))
    return Object.fromEntries(
      Object.entries(value).map(([key, each]) => [quoteName(key), showExactly(each)]),
    )
  if (typeof value === 'number') return String(value)
  return typeof value === 'string' ? quoteText(value) : value
}

/** Names of devices by their id, as far as the plan has them. */
export const namesOf = ({ units }: Row): ReadonlyMap<unknown, unknown> =>
  new Map(
    Array.isArray(units) ? units.filter(isRow).map(({ device_id, name }) => [device_id, name]) : [],
  )

export const isRow = (value: unknown): value is Row =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const arrangeItem = (item: unknown, names: ReadonlyMap<unknown, unknown>): unknown => {
  if (typeof item === 'string') return quoteItem(item)
  const arranged = arrangeWith(item, names)
  return isRow(arranged) ? flattenRow(arranged) : arranged
}

/** Moves members of members into their row, with dotted names. */
const flattenRow = (row: Row): Row =>
  Object.fromEntries(
    Object.entries(row).flatMap(([name, value]) =>
      isRow(value) && Object.keys(value).length > 0
        ? Object.entries(flattenRow(value)).map(([inner, each]) => [`${name}.${inner}`, each])
        : [[name, value]],
    ),
  )

const quoteName = (name: string): string => (PLAIN_NAME.test(name) ? name : JSON.stringify(name))

const quoteText = (text: string): string =>
  isDoubtful(text) || (/[,|]/.test(text) && !text.startsWith('{')) ? JSON.stringify(text) : text

/** Text in a list, where commas, bars and `name=value` separate the items. */
const quoteItem = (text: string): string =>
  isDoubtful(text) || /[,|=]|^[{[]/.test(text) ? JSON.stringify(text) : text

const isDoubtful = (text: string): boolean => DOUBTFUL_TEXT.test(text) || EXACT_TIME.test(text)
