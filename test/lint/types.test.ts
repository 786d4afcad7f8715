import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import t from 'tap'

const root = resolve(import.meta.dirname, '..', '..')

// tap loads its hooks into each Node program, and the launcher of tsc does not start with them
const compiler = `node_modules/@typescript/typescript-linux-${process.arch}/lib/tsc`
const outsideGit = !existsSync(join(root, '.git')) && 'this is no checkout of git'

const listLines = (command: string, args: string[]): string[] =>
  execFileSync(command, args, { cwd: root, encoding: 'utf8', maxBuffer: 2 ** 25 })
    .split('\n')
    .filter(line => line !== '')

t.test('the compiler checks every tracked source', { skip: outsideGit }, async t => {
  const compiled = new Set(
    listLines(compiler, ['--listFilesOnly']).map(path => relative(root, path)),
  )
  const tracked = listLines('git', ['ls-files', '--', '*.ts', '*.tsx', '*.mts', '*.cts'])
  t.ok(tracked.length > 0)
  t.strictSame(
    tracked.filter(path => !compiled.has(path)),
    [],
    'add their folder to "include" in tsconfig.json',
  )
})
