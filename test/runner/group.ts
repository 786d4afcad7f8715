import t from 'tap'
import { loadWith } from './tap-per-file.ts'

/** Environment variable with the files, separated by line ends; tap names its folders by arguments. */
const FILES = 'TEST_FILES'

/**
 * Runs the test files one after the other in this process, which loads what they share once. To each
 * file `tap` is a test of its own, named after the file, whose teardowns run before the next file is
 * loaded.
 */
const files = (process.env[FILES] ?? '').split('\n')
delete process.env[FILES]
for (const file of files) await t.test(file, test => loadWith(test, file))
