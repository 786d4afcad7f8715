import { once } from 'node:events'
import { constants } from 'node:fs'
import { access, readdir } from 'node:fs/promises'
import { createConnection } from 'node:net'
import { delimiter, join } from 'node:path'
import type { Need } from '../../../shared/probes/needs.ts'

interface Input {
  interfaces?: readonly string[]
}

/**
 * Names in plain words the first requirement of a probe that this machine lacks; undefined when it
 * lacks none. Only checked on Linux: elsewhere the library works differently and reports this
 * itself.
 */
export const findLacking = async (
  needs: readonly Need[],
  input: Input,
): Promise<string | undefined> => {
  if (process.platform !== 'linux') return undefined
  for (const need of needs) {
    const lacking = await check(need, input)
    if (lacking !== undefined) return lacking
  }
  return undefined
}

const check = async (need: Need, input: Input): Promise<string | undefined> => {
  if (need.kind === 'program') return findLackingProgram(need.names)
  if (need.kind === 'device')
    return (await list(join('/sys/class', need.kernelClass))).length > 0
      ? undefined
      : need.otherwise
  if (need.kind === 'wifi') return findLackingWifi()
  if (need.kind === 'docker') return findLackingDocker()
  return findLackingInterfaces(input.interfaces ?? [])
}

const list = (folder: string): Promise<string[]> => readdir(folder).catch(() => [])

const findLackingProgram = async (names: readonly string[]): Promise<string | undefined> => {
  for (const name of names) if (await isInstalled(name)) return undefined
  const which = names.join(' nor ')
  return names.length === 1 ? `${which} is not installed` : `neither ${which} is installed`
}

const isInstalled = async (name: string): Promise<boolean> => {
  const folders = (process.env.PATH ?? '').split(delimiter).filter(folder => folder !== '')
  const found = await Promise.all(folders.map(folder => canUse(join(folder, name), constants.X_OK)))
  return found.includes(true)
}

const canUse = (path: string, mode: number): Promise<boolean> =>
  access(path, mode).then(
    () => true,
    () => false,
  )

const findLackingWifi = async (): Promise<string | undefined> => {
  const interfaces = await list('/sys/class/net')
  const wireless = await Promise.all(
    interfaces.map(each => canUse(join('/sys/class/net', each, 'wireless'), constants.F_OK)),
  )
  return wireless.includes(true) ? undefined : 'this machine has no wifi adapter'
}

/** Path of the docker socket, as the library resolves it. */
const getDockerSocket = (): string => process.env.DOCKER_SOCKET ?? '/var/run/docker.sock'

const findLackingDocker = async (): Promise<string | undefined> => {
  const socket = createConnection(getDockerSocket())
  try {
    await once(socket, 'connect')
    return undefined
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EACCES') return `the daemon is not permitted to use docker (${getDockerSocket()})`
    return `no docker engine answers at ${getDockerSocket()} (${code})`
  } finally {
    socket.destroy()
  }
}

/** The library returns zeros for an interface that does not exist. */
const findLackingInterfaces = async (asked: readonly string[]): Promise<string | undefined> => {
  const existing = await readdir('/sys/class/net').catch(() => asked)
  const lacking = asked.filter(name => !existing.includes(name))
  return lacking.length === 0 ? undefined : `there is no network interface ${lacking.join(', ')}`
}
