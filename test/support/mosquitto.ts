import { spawn, spawnSync } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

const PATH = `${process.env.PATH}:/usr/sbin`

/** Why tests with a real mosquitto cannot run here; false when they can. */
export const mosquittoMissing: string | false =
  spawnSync('mosquitto', ['-h'], { env: { PATH } }).error === undefined
    ? false
    : 'mosquitto is not installed'

/** Ports below those that Linux assigns by itself (ip(7), ip_local_port_range). */
const [FIRST_PORT, END_PORT] = [20_000, 32_000]

/**
 * Finds a port outside the range of the system for a program that cannot take port 0: a test beside
 * this one could be given a port of that range before it is bound.
 */
export const findFreePort = async (): Promise<number> => {
  for (;;) {
    const port = randomInt(FIRST_PORT, END_PORT)
    const server = createServer()
    const free = once(server, 'listening').then(
      () => true,
      () => false,
    )
    server.listen(port, '127.0.0.1')
    if (!(await free)) continue
    server.close()
    await once(server, 'close')
    return port
  }
}

export interface Mosquitto {
  pid: number
  stop(): Promise<void>
}

/** A real broker with these files; ready when it says so. */
export const startMosquitto = async (
  files: (folder: string) => Record<string, string>,
): Promise<Mosquitto> => {
  const folder = mkdtempSync(join(tmpdir(), 'shoal-mosquitto-'))
  for (const [name, text] of Object.entries(files(folder))) writeFileSync(join(folder, name), text)
  // started as root it would become another user, who cannot read the folder
  const configuration = join(folder, 'mosquitto.conf')
  writeFileSync(configuration, `user ${process.getuid?.() === 0 ? 'root' : 'mosquitto'}\n`, {
    flag: 'a',
  })
  const child = spawn('mosquitto', ['-c', configuration], {
    env: { PATH },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const said: string[] = []
  const running = new Promise<void>((resolve, reject) => {
    createInterface({ input: child.stderr }).on('line', line => {
      said.push(line)
      if (/mosquitto version .* running/.test(line)) resolve()
    })
    child.once('exit', () => reject(new Error(`mosquitto ended:\n${said.join('\n')}`)))
  })
  await running
  const stop = async (): Promise<void> => {
    if (child.exitCode === null && child.signalCode === null) {
      child.kill('SIGKILL')
      await once(child, 'exit')
    }
    rmSync(folder, { recursive: true, force: true })
  }
  return { pid: child.pid as number, stop }
}
