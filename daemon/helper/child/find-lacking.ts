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
 * What this machine lacks for a probe, in plain words; undefined when it lacks nothing. On other
 * systems than Linux the library asks in other ways, and says so itself.
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
  if (need.kind === 'program') return lackingProgram(need.names)
  if (need.kind === 'device')
    return (await list(join('/sys/class', need.kernelClass))).length > 0
      ? undefined
      : need.otherwise
  if (need.kind === 'wifi') return lackingWifi()
  if (need.kind === 'docker') return lackingDocker()
  return lackingInterfaces(input.interfaces ?? [])
}

const list = (folder: string): Promise<string[]> => readdir(folder).catch(() => [])

const lackingProgram = async (names: readonly string[]): Promise<string | undefined> => {
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

const lackingWifi = async (): Promise<string | undefined> => {
  const interfaces = await list('/sys/class/net')
  const wireless = await Promise.all(
    interfaces.map(each => canUse(join('/sys/class/net', each, 'wireless'), constants.F_OK)),
  )
  return wireless.includes(true) ? undefined : 'this machine has no wifi adapter'
}

/** The library looks for it there, with the same variable. */
const dockerSocket = (): string => process.env.DOCKER_SOCKET ?? '/var/run/docker.sock'

const lackingDocker = async (): Promise<string | undefined> => {
  const socket = createConnection(dockerSocket())
  try {
    await once(socket, 'connect')
    return undefined
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EACCES') return `the daemon may not use docker (${dockerSocket()})`
    return `no docker engine answers at ${dockerSocket()} (${code})`
  } finally {
    socket.destroy()
  }
}

/** For an interface that does not exist the library answers zeros. */
const lackingInterfaces = async (asked: readonly string[]): Promise<string | undefined> => {
  const existing = await readdir('/sys/class/net').catch(() => asked)
  const lacking = asked.filter(name => !existing.includes(name))
  return lacking.length === 0 ? undefined : `there is no network interface ${lacking.join(', ')}`
}
