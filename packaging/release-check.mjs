#!/usr/bin/env node
import { launch } from '../bin/launch.mjs'

await launch('../packaging/release-check.ts')
