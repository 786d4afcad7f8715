import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { cliOf } from '../../coordinator/kernel/declaration/declaration.ts'
import { operations } from '../../coordinator/surfaces/catalogue/operations.ts'
import { skills } from '../../coordinator/surfaces/catalogue/skills.ts'
import { commands } from '../../daemon/cli/commands.ts'
import { manualFiles } from '../../packaging/manual.ts'

const files = await manualFiles(['shoal', 'shoald', 'shoal-coordinator'])

/** Text of a page without what only roff reads. */
const readPage = (path: string): string =>
  (files.get(path) ?? '').replaceAll('\\-', '-').replaceAll('\\e', '\\')

t.test('every command of the coordinator is in the page of its group', async t => {
  const missing = [...skills, ...operations].filter(operation => {
    const { group, verb } = cliOf(operation)
    const page = readPage(`man/man1/shoal-${group}.1.gz`)
    return !page.includes(`shoal ${group} ${verb}`)
  })
  t.strictSame(
    missing.map(({ id }) => id),
    [],
  )
  t.match(readPage('man/man1/shoal-cells.1.gz'), /\n\.SS shoal cells drain\n/)
  t.match(readPage('man/man1/shoal.1.gz'), /--format <format>/)
})

t.test('the programs of a service have pages with their commands', async t => {
  for (const command of commands.keys())
    t.match(readPage('man/man8/shoald.8.gz'), `shoald ${command}`)
  t.match(readPage('man/man8/shoal-coordinator-token.8.gz'), 'shoal-coordinator token create')
})

t.test('the completion of each program is in the folders of the shells', async t => {
  const packed = [...(await manualFiles(['shoald'])).keys()]
  t.strictSame(packed.toSorted(), [
    'bash-completion/completions/shoald',
    'fish/vendor_completions.d/shoald.fish',
    'man/man8/shoald.8.gz',
    'zsh/vendor-completions/_shoald',
  ])
  for (const program of ['shoal', 'shoald', 'shoal-coordinator']) {
    t.match(files.get(`bash-completion/completions/${program}`), `complete -F _${program} `)
    t.match(files.get(`zsh/vendor-completions/_${program}`), `#compdef ${program}\n`)
    t.match(files.get(`fish/vendor_completions.d/${program}.fish`), `complete -c ${program} `)
  }
})

t.test('the completion of a service has its commands, flags and their values', async t => {
  const rows = (program: string) =>
    [...(files.get(`bash-completion/completions/${program}`) ?? '').matchAll(/^ {4}'(.*)'$/gm)]
      .map(([, row = '']) => row.split('\t').slice(0, 2).join(' > '))
      .toSorted()
  const daemon = rows('shoald')
  const wanted = [...commands].flatMap(([name, { help }]) => [
    `shoald > ${name}`,
    ...help.flags
      .flatMap(line => /^--[\w-]+/.exec(line) ?? [])
      .map(flag => `shoald ${name} - > ${flag}`),
  ])
  t.strictSame(
    wanted.filter(row => !daemon.includes(row)),
    [],
  )
  for (const row of [
    'shoald --inference-gpu > off',
    'shoald - > --retune',
    'shoald estop > release',
    'shoald devices --format > json',
    'shoald join --token-file > :files',
  ])
    t.ok(daemon.includes(row), row)
  const coordinator = rows('shoal-coordinator')
  for (const row of [
    'shoal-coordinator key create --role > operator_admin',
    'shoal-coordinator store copy --from > sqlite',
    'shoal-coordinator --http-tls-cert-file > :files',
    'shoal-coordinator --broker-mode > external',
    'shoal-coordinator backup verify > :files',
    'shoal-coordinator key list - > --format',
  ])
    t.ok(coordinator.includes(row), row)
})

const hasMan = spawnSync('man', ['--version']).status === 0
const skip = hasMan ? false : 'man is not installed'

t.test('man formats the pages without a warning', { skip }, async t => {
  const folder = t.testdir()
  for (const path of ['man/man1/shoal.1.gz', 'man/man1/shoal-gates.1.gz', 'man/man8/shoald.8.gz']) {
    const file = join(folder, path.replaceAll('/', '-').replace('.gz', ''))
    writeFileSync(file, files.get(path) ?? '')
    const env = { ...process.env, MANWIDTH: '80', LC_ALL: 'C.UTF-8' }
    const args = ['--warnings', '-E', 'UTF-8', '-l', file]
    const { status, stdout, stderr } = spawnSync('man', args, { env, encoding: 'utf8' })
    t.strictSame([status, stderr], [0, ''], path)
    t.match(stdout, /\nNAME\n/)
  }
})
