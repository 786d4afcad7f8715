import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { constants } from 'node:os'

// Plain JavaScript that any Node can read: it decides which Node runs the sources. The oldest that
// `engines` in package.json promises; older ones fail on imports of the sources.
const NEEDED = [24, 5]

const fits = version => {
  const [major, minor] = version.split('.').map(Number)
  return major > NEEDED[0] || (major === NEEDED[0] && minor >= NEEDED[1])
}

/** The Node that is carried as a dependency, for machines whose own one is too old. */
const carried = () =>
  ['x64', 'arm64']
    .map(arch => new URL(`../node_modules/node-linux-${arch}/bin/node`, import.meta.url).pathname)
    .find(path => path.includes(`-${process.arch}/`) && existsSync(path))

/** Runs this program in another Node and exits with its code. */
export const again = node => {
  const child = spawn(node, process.argv.slice(1), {
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
    env: { ...process.env, [STAND_IN]: '1' },
  })
  for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
  // a terminal sends it to the child as well, which may be about to end, or takes both for one
  process.on('SIGINT', () => setTimeout(() => child.kill('SIGINT'), HAND_ON_MS))
  child.on('exit', (code, signal) => process.exit(code ?? 128 + constants.signals[signal]))
}

const HAND_ON_MS = 200

/** Marks the second process, which ends together with the first. */
const STAND_IN = 'SHOAL_STAND_IN'

const endWithStarter = () => {
  if (process.env[STAND_IN] === undefined) return
  delete process.env[STAND_IN]
  process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'))
  process.channel?.unref()
}

/** Runs `main(argv, env)` of a TypeScript source; `source` is relative to this folder. */
export const launch = async source => {
  if (fits(process.versions.node)) {
    await import('./quick-load.mjs')
    endWithStarter()
    const { main } = await import(new URL(source, import.meta.url).href)
    await main(process.argv.slice(2), process.env)
    return
  }
  const node = carried()
  if (node) return again(node)
  console.error(
    `shoal needs Node ${NEEDED.join('.')} or newer and this is ${process.versions.node}; ` +
      'run npm ci in its folder, which brings one along',
  )
  process.exit(78)
}
