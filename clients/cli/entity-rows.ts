type Row = Record<string, unknown>

const isRow = (value: unknown): value is Row =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

interface Entity extends Row {
  entity_id: string
  fields: Row
}

/** True for an entity of the discovery registry, with the source of each of its values. */
export const isEntity = (value: unknown): value is Entity =>
  isRow(value) && typeof value.entity_id === 'string' && isRow(value.fields)

/** Most addresses of an entity in a list; `discover show` prints all of them. */
const MAX_ADDRESSES = 2

/** Summarizes an entity as one line of a list; `discover show` prints the whole entity. */
export const summarizeEntity = (entity: unknown): unknown => {
  if (!isEntity(entity)) return entity
  const { entity_id, name, device_type, risk_level, last_seen, is_present, fields } = entity
  return {
    entity_id,
    name,
    type: device_type,
    vendor: readValue(fields.vendor),
    addresses: listAddresses(fields),
    risk: risk_level,
    last_seen,
    present: is_present,
    cell: listCells(entity.sources),
  }
}

/** Arranges a whole entity with its fields as a table of values and their sources. */
export const arrangeEntity = ({ fields, ...entity }: Entity): Row => ({
  ...entity,
  fields: Object.entries(fields).map(([field, known]) => {
    if (!isRow(known)) return { field, value: textOf(known) }
    const { value, conflicts, ...origin } = known
    return { field, value: textOf(value), ...origin, others: listOthers(conflicts) }
  }),
})

const readValue = (field: unknown): unknown => (isRow(field) ? field.value : undefined)

const listAddresses = ({ ip_addresses, mac_addresses }: Row): string => {
  const all = [readValue(ip_addresses), readValue(mac_addresses)].filter(Array.isArray)
  const [addresses = []] = all.filter(({ length }) => length > 0)
  const more = addresses.length - MAX_ADDRESSES
  return [...addresses.slice(0, MAX_ADDRESSES), ...(more > 0 ? [`+${more}`] : [])].join(' ')
}

/** Cells that saw the entity; lookups by the coordinator have no cell. */
const listCells = (sources: unknown): string => {
  const ids = Array.isArray(sources) ? sources.map(source => isRow(source) && source.cell_id) : []
  return [...new Set(ids.filter(id => typeof id === 'string'))].join(' ')
}

/** Values of other sources: `Acme (snmp-discover)`. */
const listOthers = (conflicts: unknown): string =>
  Array.isArray(conflicts)
    ? conflicts
        .filter(isRow)
        .map(({ value, source }) => `${textOf(value)} (${source})`)
        .join('; ')
    : ''

/** Formats a value for one cell of a table; null members of an object are omitted. */
const textOf = (value: unknown): string => {
  if (Array.isArray(value)) return value.map(textOf).join(', ')
  if (!isRow(value)) return String(value)
  const members = Object.entries(value).filter(([, each]) => each !== null)
  return members.map(([name, each]) => `${name}=${textOf(each)}`).join(' ')
}
