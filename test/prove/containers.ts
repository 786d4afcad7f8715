import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { findFreePorts } from '../../bin/up/ports.ts'

/*
 * The section on containers of docs/install.md to the letter: a base from Debian's archive, images
 * from the packages, and an answer of the cell. It needs root, Podman, podman-compose, mmdebstrap
 * and an archive of Debian; images and containers are in a folder of their own, which is removed.
 */

const root = resolve(import.meta.dirname, '..', '..')

const CONTAINERS = `[containers]
default_ulimits = ["nofile=20000:20000", "nproc=10000:10000"]
[engine]
cgroup_manager = "cgroupfs"
`

const listCommands = (): string[] => {
  const page = readFileSync(join(root, 'docs', 'install.md'), 'utf8')
  return [...page.matchAll(/^```sh containers\n(.*?)^```/gms)].map(([, command = '']) => command)
}

/** Runs a script and returns what it printed; throws when it fails. */
const runShell = async (script: string, env: NodeJS.ProcessEnv): Promise<string> => {
  const child = spawn('bash', ['--norc', '-euo', 'pipefail', '-c', script], { cwd: root, env })
  let text = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (bytes: Buffer) => {
      text += bytes
      process.stdout.write(bytes)
    })
  const [code] = await once(child, 'close')
  if (code === 0) return text
  throw new Error(`${script}\nended with code ${code}`)
}

/** Storage and settings apart from those of the machine. `--runtime` names another one, such as runc. */
const createEnvironment = async (folder: string, runtime: string | undefined) => {
  const storage = `[storage]\ndriver = "overlay"\ngraphroot = "${folder}/graph"\nrunroot = "${folder}/run"\n`
  const choice = runtime === undefined ? '' : `runtime = "${runtime}"\n`
  writeFileSync(join(folder, 'storage.conf'), storage)
  writeFileSync(join(folder, 'containers.conf'), CONTAINERS + choice)
  const [port] = await findFreePorts(1)
  return {
    ...process.env,
    CONTAINERS_CONF: join(folder, 'containers.conf'),
    CONTAINERS_STORAGE_CONF: join(folder, 'storage.conf'),
    SHOAL_PORT: String(port),
    BASE: 'localhost/debian:12',
  }
}

const CLEAN_UP =
  'podman-compose down -v; podman rmi -af; podman network rm "$(basename "$PWD")_default" || true'

/** The cell starts again by itself, and loads its models. */
const ATTEMPTS = 30

const askUntilAnswered = async (command: string, env: NodeJS.ProcessEnv): Promise<string> => {
  for (let attempt = 1; ; attempt++)
    try {
      return await runShell(command, env)
    } catch (error) {
      if (attempt === ATTEMPTS) throw error
      await sleep(2000)
    }
}

export const main = async (argv: string[]): Promise<boolean> => {
  const folder = mkdtempSync(join(tmpdir(), 'shoal-containers-'))
  const env = await createEnvironment(folder, argv[argv.indexOf('--runtime') + 1 || argv.length])
  let key = ''
  let token = ''
  let answer = ''
  try {
    for (const command of listCommands()) {
      const filled = command.replace('shl_join_…', token).replace('KEY', key)
      console.log(`$ ${filled}`)
      answer = await (command.includes(' chat ') ? askUntilAnswered : runShell)(filled, env)
      key = /svc-dev-\S+/.exec(answer)?.[0] ?? key
      token = /shl_join_[\w.-]+/.exec(answer)?.[0] ?? token
    }
    return answer.includes('cell')
  } finally {
    await runShell(`${CLEAN_UP}; umount ${folder}/graph/overlay || true`, env).catch(console.error)
    rmSync(folder, { recursive: true, force: true })
    rmSync(join(root, 'dist', 'base.tar'), { force: true })
  }
}
