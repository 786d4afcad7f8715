import { access, constants } from 'node:fs/promises'
import { readSecret } from './read-secret.ts'

type Link = Readonly<Record<string, unknown>>

/** Lists of devices in the configuration of a link, by kind. */
const DEVICE_LISTS: Readonly<Record<string, string>> = {
  sim: 'devices',
  mqtt: 'devices',
  ros2: 'robots',
  mavlink: 'vehicles',
}

interface NamedKey {
  key: string
  name: string
}

/** A device name that two keys have; people and agents name devices by it. */
export const findDuplicateName = (
  links: readonly Link[],
): { name: string; keys: [string, string] } | undefined => {
  const keys = new Map<string, string>()
  for (const { key, name } of links.flatMap(listNames)) {
    const first = keys.get(name)
    if (first !== undefined) return { name, keys: [first, key] }
    keys.set(name, key)
  }
  return undefined
}

const listNames = (link: Link, index: number): NamedKey[] => {
  const list = DEVICE_LISTS[String(link.kind)]
  const devices: unknown = list === undefined ? [link] : link[list]
  if (!Array.isArray(devices)) return []
  return devices.flatMap(({ name }: Link, at) => {
    const key = `links.${index}${list === undefined ? '' : `.${list}.${at}`}.name`
    return typeof name === 'string' ? [{ key, name }] : []
  })
}

/** Files of links that cannot be read, each with its key. Such a link does not connect; others do. */
export const findFileFaults = async (links: readonly Link[]): Promise<string[]> => {
  const files = links.flatMap((link, index) =>
    Object.entries(link).flatMap(([name, path]) =>
      name.endsWith('_file') && typeof path === 'string'
        ? [{ key: `devices.links.${index}.${name}`, name, path }]
        : [],
    ),
  )
  const faults = await Promise.all(files.map(describeFileFault))
  return faults.filter(fault => fault !== undefined)
}

interface NamedFile {
  key: string
  name: string
  path: string
}

const describeFileFault = async ({ key, name, path }: NamedFile): Promise<string | undefined> => {
  const check = name === 'ca_file' ? requireReadable(path) : readSecret(path)
  return check.then(
    () => undefined,
    (error: Error) => `${key}: ${error.message}`,
  )
}

export const FILE_REMEDY =
  'create the file so that the user of the daemon can read it, or correct the path'

const requireReadable = async (path: string): Promise<void> => {
  await access(path, constants.R_OK).catch((cause: NodeJS.ErrnoException) => {
    throw new Error(`the certificate file ${path} cannot be read: ${cause.code}`, { cause })
  })
}
