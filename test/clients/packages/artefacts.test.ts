import { type SpawnSyncReturns, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, cpSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { startStack } from '../../support/stack.ts'

const root = resolve(import.meta.dirname, '..', '..', '..')

/** Environment without the additions of the test runner, as a user starts programs. */
const plain = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => name !== 'NODE_OPTIONS' && !/TAP/.test(name)),
)

const runOrThrow = (result: SpawnSyncReturns<string>): string => {
  if (result.status !== 0) throw new Error(`${result.stdout}\n${result.stderr}`)
  return result.stdout
}

/** The compiler itself: its launcher does not start under the test runner's hooks. */
const compiler = (): string =>
  join(root, `node_modules/@typescript/typescript-linux-${process.arch}/lib/tsc`)

/** An empty project with the package as `npm pack` made it. */
const npmProject = (t: Test): string => {
  const folder = t.testdir({ source: {}, project: { 'package.json': '{"type":"module"}' } })
  const source = join(folder, 'source')
  cpSync(join(root, 'clients/typescript'), source, {
    recursive: true,
    filter: path => !path.endsWith('/dist'),
  })
  const config = JSON.parse(readFileSync(join(source, 'tsconfig.json'), 'utf8'))
  writeFileSync(
    join(source, 'tsconfig.json'),
    JSON.stringify({ ...config, extends: join(root, 'tsconfig.json') }),
  )
  const quiet = { cwd: source, encoding: 'utf8', timeout: 120_000, env: plain } as const
  runOrThrow(spawnSync(compiler(), ['-p', source], quiet))
  runOrThrow(spawnSync('npm', ['pack', '--pack-destination', folder], quiet))
  const [tarball = ''] = readdirSync(folder).filter(name => name.endsWith('.tgz'))
  const project = join(folder, 'project')
  const install = ['install', '--offline', '--no-audit', '--no-fund', join(folder, tarball)]
  runOrThrow(spawnSync('npm', install, { ...quiet, cwd: project }))
  return project
}

/** A folder with the package as `pip install` made it, or why there is none. */
const pipFolder = (t: Test): string | undefined => {
  const folder = t.testdir({ source: {}, target: {} })
  const [source, target] = [join(folder, 'source'), join(folder, 'target')]
  cpSync(join(root, 'clients/python'), source, { recursive: true })
  const options = ['--no-index', '--disable-pip-version-check', '--no-cache-dir']
  runOrThrow(
    spawnSync('python3', ['-m', 'pip', 'install', ...options, '--target', target, source], {
      encoding: 'utf8',
      timeout: 120_000,
      env: plain,
    }),
  )
  return target
}

const pip =
  spawnSync('python3', ['-c', 'import pip'], { env: plain }).status === 0
    ? false
    : 'python3 has no pip'

t.test('the installed packages work against a coordinator', async t => {
  const { url, keys, stop } = await startStack()
  t.teardown(stop)

  const run = async (command: string, args: string[], key: string, more: object = {}) => {
    const env = { ...plain, SHOAL_URL: url, SHOAL_KEY: key, ...more }
    const child = spawn(command, args, { env, stdio: ['ignore', 'pipe', 'pipe'] })
    const [out, err] = [text(child.stdout), text(child.stderr)]
    const [code] = child.exitCode === null ? await once(child, 'exit') : [child.exitCode]
    return { code, out: await out, err: await err }
  }

  const examples = (t: Test, name: string, start: (file: string) => [string, string[], object]) => {
    t.test(`${name} streams an answer`, async t => {
      const { code, out, err } = await run(...createKeyed(start('chat'), keys.free))
      t.equal(code, 0, err)
      t.match(out, /machine|host|daemon/i)
    })
    t.test(`${name} stops a release that is not approved`, async t => {
      const { code, out, err } = await run(...createKeyed(start('release'), keys.operator))
      t.equal(code, 75, err)
      t.match(out, /policy: needs_gate\ncontrols: \d+\nnot released: pending\n/)
      t.match(out, /last in the audit: gate\.request/)
    })
  }
  const createKeyed = ([command, args, more]: [string, string[], object], key: string) =>
    [command, args, key, more] as const

  t.test('npm', async t => {
    const project = npmProject(t)
    for (const file of ['chat.ts', 'release.ts'])
      copyFileSync(join(root, 'examples/typescript', file), join(project, file))
    examples(t, 'npm', file => [process.execPath, [join(project, `${file}.ts`)], {}])
  })

  t.test('pip', { skip: pip }, async t => {
    const target = pipFolder(t)
    examples(t, 'pip', file => [
      'python3',
      ['-B', join(root, 'examples/python', `${file}.py`)],
      { PYTHONPATH: target },
    ])
  })
})
