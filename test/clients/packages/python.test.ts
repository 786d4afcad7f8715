import { spawnSync } from 'node:child_process'
import { join, resolve } from 'node:path'
import t from 'tap'

const root = resolve(import.meta.dirname, '..', '..', '..')
const python = process.env.SHOAL_TEST_PYTHON ?? 'python3'
const there = spawnSync(python, ['--version']).status === 0

t.test(
  'the Python client meets its documented guarantees',
  { skip: !there && 'there is no python3' },
  async t => {
    const { status, stderr } = spawnSync(
      python,
      ['-B', '-m', 'unittest', 'discover', '-s', 'tests', '-t', '.'],
      { cwd: join(root, 'clients/python'), encoding: 'utf8', timeout: 60_000 },
    )
    t.equal(status, 0, stderr)
    t.match(stderr, /Ran [1-9]\d* tests/)
  },
)

t.test('it has the syntax of Python 3.9', { skip: !there && 'there is no python3' }, async t => {
  const parse = [
    'import ast, pathlib',
    "for file in pathlib.Path('shoal_client').glob('*.py'):",
    '    ast.parse(file.read_text(), feature_version=(3, 9))',
  ].join('\n')
  const { status, stderr } = spawnSync(python, ['-c', parse], {
    cwd: join(root, 'clients/python'),
    encoding: 'utf8',
  })
  t.equal(status, 0, stderr)
})
