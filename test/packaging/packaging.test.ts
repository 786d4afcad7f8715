import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import t from 'tap'
import { closureOf, filesIn, importsOf } from '../../packaging/closure.ts'
import { products } from '../../packaging/products.ts'
import { scriptsFor } from '../../packaging/scripts.ts'

const root = resolve(import.meta.dirname, '..', '..')

const isShell = (text: string): boolean => spawnSync('sh', ['-n'], { input: text }).status === 0

for (const product of products)
  t.test(product.name, async t => {
    t.test('has only existing sources', async t => {
      for (const source of product.sources) t.ok(existsSync(join(root, source)), source)
      for (const command of product.commands)
        t.ok(product.sources.includes(`bin/${command}.mjs`), command)
    })

    t.test('has the tables of assigned names wherever it has discovery', async t => {
      if (!product.sources.includes('discovery')) return
      const files = product.sources.flatMap(source => filesIn(root, source))
      for (const name of ['oui', 'bluetooth-companies', 'bluetooth-services', 'enterprises'])
        t.ok(files.includes(`discovery/entities/vendors/${name}.tsv`), name)
    })

    t.test('has valid shell scripts', async t => {
      for (const [name, text] of Object.entries(scriptsFor(product))) t.ok(isShell(text), name)
    })

    t.test('has every package that its sources import, with their dependencies', async t => {
      const names = importsOf(root, product.sources)
      const folders = closureOf(root, names)
      for (const name of names) t.ok(folders.includes(`node_modules/${name}`), name)
      for (const folder of folders) t.ok(existsSync(join(root, folder, 'package.json')), folder)
      t.notOk(folders.includes('node_modules/tap'), 'nothing that only tests need')
    })

    t.test('has a unit whose paths match the package', async t => {
      if (product.unit === undefined) return
      const text = readFileSync(join(root, 'systemd', product.unit), 'utf8')
      const program = /ExecStart=.* \/opt\/shoal\/(bin\/[\w-]+\.mjs)/.exec(text)?.[1] ?? ''
      t.ok(product.sources.includes(program), program)
      t.match(text, /\/opt\/shoal\/node_modules\/\.bin\/node /)
    })
  })

t.test('the installer is a valid shell script and asks for its requirements', async t => {
  const file = join(root, 'packaging', 'install.sh')
  t.ok(isShell(readFileSync(file, 'utf8')))
  t.equal(spawnSync('sh', [file]).status, 64)
  const text = readFileSync(file, 'utf8')
  t.match(text, /shoald join "\$url" --token-file "\$file"/, 'no token among the arguments')
})
