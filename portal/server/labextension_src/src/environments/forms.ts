import { Dialog, Notification, showDialog } from '@jupyterlab/apputils';
import { KernelSpec } from '@jupyterlab/services';

import { IChoices, IOwnEnvironment, ITask, Order } from './client';
import { EnvironmentTasks, failureText } from './tasks';
import { withGuide } from '../base/guide';
import { Form, IField, Values } from '../base/form';
import { watchTask } from './taskdialog';

const NAME: IField = {
  key: 'name',
  label: 'Short name',
  hint: 'Up to 61 small letters, digits, ".", "_" and "-"; a letter or digit first, such as nlp',
  pattern: '[a-z0-9][a-z0-9._\\-]{0,60}',
  isRequired: true
};
const TITLE: IField = {
  key: 'title',
  label: 'Name in the launcher',
  hint: 'Default: the short name.'
};

/** What was asked for last and did not succeed, for the next try. */
const unfinished = new Map<'new' | 'add', Values>();

/** Ask for a new environment, make it, and return its kernel, or null if there is none. */
export async function makeEnvironment(
  tasks: EnvironmentTasks,
  specs: KernelSpec.IManager,
  values: Readonly<Values>,
  offersNotebook: boolean
): Promise<string | null> {
  const choices = await readChoices(tasks);
  const shown = (name: string) => specs.specs?.kernelspecs[name]?.display_name ?? name;
  const kernels = (choices?.kernels ?? []).map(name => [name, shown(name)] as const);
  const fields: IField[] = [
    NAME,
    {
      key: 'like',
      label: 'On top of',
      kind: 'choice',
      choices: [...kernels, ['', 'Nothing: only the packages listed below']],
      hint: 'Starts with the packages of a kernel, at their current versions.'
    },
    {
      key: 'python',
      label: 'Python version',
      hint: 'For example 3.12. Leave empty for the portal’s Python.',
      onlyIf: ['like', '']
    },
    { key: 'packages', label: 'Packages', kind: 'text', hint: 'One in each line, such as einops.' },
    { key: 'requirements', label: 'Requirements file', hint: 'Path in your files. Optional.' },
    TITLE,
    {
      key: 'folder',
      label: 'Folder',
      hint: 'Such as the folder of a project on the shared storage. Default: your home.'
    },
    { key: 'share', label: 'The group of this folder can use it', kind: 'check' }
  ];
  return choices && ask(tasks, 'New environment', 'Make it', fields, values, 'new', offersNotebook);
}

/** Ask for an image, make a kernel of it, and return its name or null. */
export async function addImage(tasks: EnvironmentTasks): Promise<string | null> {
  const choices = await readChoices(tasks);
  if (choices && !choices.has_container) {
    await showDialog({
      title: 'Images cannot run here',
      body:
        'The node of this session has neither apptainer nor singularity. Ask your ' +
        'administrators for it, or start a session on another partition.',
      buttons: [Dialog.okButton({ label: 'Close' })]
    });
    return null;
  }
  const fields: IField[] = [
    NAME,
    {
      key: 'image',
      label: 'Image',
      hint: 'docker://REGISTRY/NAME:TAG, or the path of a .sif file in your files',
      isRequired: true
    },
    TITLE,
    {
      key: 'key',
      label: 'File with your key',
      hint: 'For private registries only. Only you may have read access to this file.'
    },
    {
      key: 'folder',
      label: 'Folder',
      hint: 'Where to store the image built from docker:// (several GB). Default: your home.'
    }
  ];
  return choices && ask(tasks, 'Add an image', 'Add it', fields, {}, 'add', true);
}

/** Ask for the group that shares an environment, or whether it is taken back; the order, or null. */
export async function askGroup(
  tasks: EnvironmentTasks,
  { id, name, group }: IOwnEnvironment
): Promise<Order | null> {
  const choices = await readChoices(tasks);
  if (choices === null) {
    return null;
  }
  const groups = group && !choices.groups.includes(group) ? [group] : [];
  const names = [...choices.groups, ...groups].map(one => [one, one] as const);
  const field: IField = {
    key: 'group',
    label: 'Group',
    kind: 'choice',
    choices: group ? [...names, ['', 'Nobody: stop sharing it']] : names,
    hint: 'Its members can use the environment, but not change it'
  };
  const { button, value } = await showDialog({
    title: `Share ${name}`,
    body: withGuide(new Form([field], group ? { group } : {}), 'environment'),
    buttons: [Dialog.cancelButton(), Dialog.okButton({ label: group ? 'Change it' : 'Share it' })]
  });
  if (!button.accept || !value) {
    return null;
  }
  return value.group
    ? { action: 'share', name: id, group: value.group }
    : { action: 'unshare', name: id };
}

async function readChoices(tasks: EnvironmentTasks): Promise<IChoices | null> {
  try {
    return await tasks.client.choices();
  } catch (error) {
    Notification.error((error as Error).message, { autoClose: false });
    return null;
  }
}

async function ask(
  tasks: EnvironmentTasks,
  title: string,
  label: string,
  fields: ReadonlyArray<IField>,
  values: Readonly<Values>,
  action: 'new' | 'add',
  offersNotebook: boolean
): Promise<string | null> {
  let error = '';
  if (Object.keys(values).length === 0) {
    values = unfinished.get(action) ?? {};
  }
  for (;;) {
    const { button, value } = await showDialog({
      title,
      body: withGuide(new Form(fields, values, error), action === 'new' ? 'environment' : 'image'),
      buttons: [Dialog.cancelButton(), Dialog.okButton({ label })]
    });
    if (!button.accept || !value) {
      return null;
    }
    values = value;
    unfinished.set(action, value);
    let task: ITask;
    try {
      task = await tasks.start({ ...value, action });
    } catch (problem) {
      error = (problem as Error).message;
      continue;
    }
    const ended = await watchTask(tasks, task, { notebook: offersNotebook, again: true });
    if (ended.state === 'done') {
      unfinished.delete(action);
      return ended.kernel;
    }
    if (!ended.isWantedAgain) {
      return null;
    }
    error = failureText(ended);
  }
}
