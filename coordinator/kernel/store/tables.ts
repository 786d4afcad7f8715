/*
 * Types of the tables, by database. Every table declares itself in a file `*.table.ts` of its domain
 * and adds its type here (`declare module`), so that queries are checked in the whole program while
 * this folder knows no domain. Only text, numbers and bytes, so that a schema holds on both engines.
 */

// biome-ignore lint/suspicious/noEmptyInterface: every file *.table.ts adds its table
export interface LedgerTables {}

// biome-ignore lint/suspicious/noEmptyInterface: every file *.table.ts adds its table
export interface RecordTables {}
