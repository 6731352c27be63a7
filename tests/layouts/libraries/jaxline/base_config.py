"""The options of a run."""

from types import SimpleNamespace


def get_base_config() -> SimpleNamespace:
    """The options that the programs of the suite set or leave."""
    return SimpleNamespace(
        random_seed=42,
        training_steps=4,
        random_mode_train="unique_host_unique_device",
        random_mode_eval="same_host_same_device",
        save_checkpoint_interval=2,
        log_train_data_interval=1,
        interval_type="steps",
        one_off_evaluate=True,
        max_checkpoints_to_keep=5,
        experiment_kwargs={},
    )
