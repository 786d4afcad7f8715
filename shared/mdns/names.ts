/** A service instance: `Printer (2)` of `_ipp._tcp`. */
export interface InstanceName {
  instance: string
  type: string
}

/** Name under which hosts list their service types (RFC 6763, 9). */
export const META_NAME = '_services._dns-sd._udp.local'

const TYPE = /^(_[a-z0-9](?:[a-z0-9-]{0,60}[a-z0-9])?\._(?:tcp|udp))\.local$/i
const INSTANCE = /^(.+)\.(_[a-z0-9](?:[a-z0-9-]{0,60}[a-z0-9])?\._(?:tcp|udp))\.local$/is

/** Service type of a name such as `_ipp._tcp.local`; undefined for any other name (RFC 6335, 5.1). */
export const parseTypeName = (name: string): string | undefined =>
  TYPE.exec(name)?.[1]?.toLowerCase()

/** The instance may hold dots and spaces, so only the end of the name is fixed (RFC 6763, 4.1). */
export const parseInstanceName = (name: string): InstanceName | undefined => {
  const [, instance, type] = INSTANCE.exec(name) ?? []
  return instance === undefined || type === undefined
    ? undefined
    : { instance, type: type.toLowerCase() }
}

/** Labels of a name; those of an instance are known, as its first label may hold dots. */
export const listLabels = (name: string): string[] => {
  const parsed = parseInstanceName(name)
  return parsed === undefined
    ? name.split('.')
    : [parsed.instance, ...parsed.type.split('.'), 'local']
}

/** Form by which names are compared: ASCII letters without case (RFC 6762, 16). */
export const foldName = (name: string): string => name.replace(/[A-Z]/g, each => each.toLowerCase())
